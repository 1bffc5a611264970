import type { SubscriptionManifest } from '#runtime/session/types/schedule.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import { keeperOf } from '#runtime/session/types/schedule.ts'
import type { ScheduleGateway, ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import { specOfManifest, subscriptionsOfManifest } from './types/subscription-spec.ts'
import type { Sources } from '#contracts/sources.ts'
import { byOperator as by, idFrom, ifThere } from './own-schedules.ts'

export interface PluginSubscriptionsDeps extends Pick<Sources, 'sha256'> {
  readonly gateway: Pick<ScheduleGateway, 'ask'>
  readonly index: Pick<ScheduleIndex, 'subscribingManifests' | 'subscriptionsOf'>
  readonly plugins: Pick<PluginAdministration, 'show'>
  readonly onFault: (error: unknown) => void
}

/**
 * Brings the objects of plugins in line with the enabled plugins: the agent of each receives the events that its
 * manifest subscribes to, in the name of the operator who allowed it; subscriptions of other plugins are removed. A
 * changed text is another subscription. A second pass changes nothing and calls no object. Never throws.
 *
 * @param plugin The changed plugin; absent: all.
 */
export function createPluginSubscriptions(
  deps: PluginSubscriptionsDeps,
): (plugin?: string) => Promise<void> {
  const { gateway, index, plugins, sha256 } = deps
  const idOf = (plugin: string, asked: SubscriptionManifest) =>
    idFrom('sub', ['plugin-subscription', plugin, JSON.stringify(asked)], sha256)
  const keep = async (plugin: string, id: string, one: SubscriptionManifest): Promise<void> => {
    const spec = specOfManifest(one, plugin)
    const owner = `plugin:${plugin}` as const
    const schedule = { id, owner, asker: { principal: by.principal }, spec }
    await gateway.ask(owner, 'add', { schedule, by })
  }
  const enabled = async (plugin: string) => {
    const view = await plugins.show(plugin)
    return view?.state === 'enabled' ? [{ plugin, manifest: view.manifest }] : []
  }
  return async (plugin) => {
    try {
      const [subscribing, kept] = await Promise.all([
        plugin === undefined ? index.subscribingManifests() : enabled(plugin),
        index.subscriptionsOf(plugin),
      ])
      const left = new Map(kept.map((one) => [one.id, one]))
      for (const { plugin: owner, manifest } of subscribing)
        for (const one of subscriptionsOfManifest(manifest)) {
          const id = idOf(owner, one)
          // The id covers the whole text: a subscription in the list already matches.
          if (!left.delete(id)) await keep(owner, id, one)
        }
      for (const { id, owner, asker } of left.values()) {
        const keeper = keeperOf({ owner, asker })
        await ifThere(gateway.ask(keeper, 'remove', { id, by }))
      }
    } catch (error) {
      deps.onFault(error)
    }
  }
}
