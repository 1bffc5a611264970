import { lengthPrefixed } from '#contracts/naming.ts'
import { errorCode } from '#contracts/errors.ts'
import type { SubscriptionManifest } from '#contracts/manifest-events.ts'
import type { PluginAdministration } from '#contracts/plugin-catalog.ts'
import type { ScheduleGateway, ScheduleIndex } from '#contracts/schedule-object.ts'
import { subscriptionsOfManifest, toSubscriptionSpec } from '#contracts/subscription-spec.ts'
import type { Sources } from '#contracts/sources.ts'

export interface PluginSubscriptionsDeps extends Pick<Sources, 'sha256'> {
  readonly gateway: Pick<ScheduleGateway, 'ask'>
  readonly index: Pick<ScheduleIndex, 'subscriptionsOf'>
  readonly plugins: Pick<PluginAdministration, 'list' | 'show'>
  readonly onFault: (error: unknown) => void
}

const by = { principal: 'operator', trace: '' }

/**
 * Brings the objects of plugins to what is enabled: the agent of each hears what its manifest subscribes to, in the
 * operator's name, who allowed it; of the others nothing is left. One that reads otherwise is another one. Asked again it
 * changes nothing. Never throws.
 *
 * @param plugin The one that was changed; absent: all.
 */
export function createPluginSubscriptions(
  deps: PluginSubscriptionsDeps,
): (plugin?: string) => Promise<void> {
  const { gateway, index, plugins, sha256 } = deps
  const idOf = (plugin: string, asked: SubscriptionManifest) => {
    const parts = ['plugin-subscription', plugin, JSON.stringify(asked)]
    return `sub_${sha256(lengthPrefixed(parts)).slice(0, 22)}`
  }
  const keep = async (plugin: string): Promise<readonly string[]> => {
    const view = await plugins.show(plugin)
    const asked = view?.state === 'enabled' ? subscriptionsOfManifest(view.manifest) : []
    const owner = `plugin:${plugin}` as const
    for (const one of asked) {
      const { max_depth: maxDepth, ttl_minutes: ttlMinutes, runs_a_day: runs, ...rest } = one
      const spec = toSubscriptionSpec({
        ...rest,
        agent: plugin,
        maxDepth,
        ttlMinutes,
        ...(runs !== undefined && { daily: { runs } }),
      })
      const schedule = { id: idOf(plugin, one), owner, asker: { principal: by.principal }, spec }
      await gateway.ask(owner, 'add', { schedule, by })
    }
    return asked.map((one) => idOf(plugin, one))
  }
  return async (plugin) => {
    try {
      const meant =
        plugin === undefined
          ? (await plugins.list()).filter(({ state }) => state === 'enabled').map(({ id }) => id)
          : [plugin]
      const wanted = new Set<string>()
      for (const id of meant) for (const one of await keep(id)) wanted.add(one)
      for (const { id, owner } of await index.subscriptionsOf(plugin)) {
        if (wanted.has(id)) continue
        await gateway.ask(owner, 'remove', { id, by }).catch((error: unknown) => {
          if (errorCode(error) !== 'request_not_found') throw error
        })
      }
    } catch (error) {
      deps.onFault(error)
    }
  }
}
