import { errorCode } from '#contracts/errors.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { SubscriptionManifest } from '#runtime/session/types/manifest-events.ts'
import {
  cronOfManifest,
  specOfManifest,
  subscriptionsOfManifest,
  toScheduleSpec,
  workOfPlugin,
} from './types/schedule-spec.ts'
import type { ScheduleGateway, ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import type { Schedule } from '#runtime/session/types/schedule.ts'
import type { Sources } from '#contracts/sources.ts'
import { byOperator as by, idFrom, ifThere, keeperOf } from './own-schedules.ts'

export interface PluginSchedulesDeps extends Pick<Sources, 'sha256'> {
  readonly gateway: ScheduleGateway
  readonly index: ScheduleIndex
  readonly plugins: Pick<PluginAdministration, 'show'>
  readonly onFault: (error: unknown) => void
}

const pageSize = 500

const drop = (gateway: ScheduleGateway, one: Schedule) =>
  ifThere(gateway.ask(keeperOf(one), 'remove', { id: one.id, by }))

/**
 * Brings the objects of plugins in line with the enabled plugins: each plugin whose manifest has a schedule keeps it,
 * in the name of the operator who allowed it; schedules of other plugins are removed. A second pass changes nothing.
 * Never throws.
 *
 * @param plugin The changed plugin, so that a change costs the same among thousands; absent: all.
 */
export function createPluginSchedules(
  deps: PluginSchedulesDeps,
): (plugin?: string) => Promise<void> {
  const { gateway, index, plugins, sha256 } = deps
  const idOf = (plugin: string) => idFrom('sch', ['plugin-schedule', plugin], sha256)

  const keep = async (plugin: string, name: string, cron: string): Promise<void> => {
    const [owner, id] = [`plugin:${plugin}`, idOf(plugin)] as const
    const when = { cron, timeZone: 'UTC' }
    const work = workOfPlugin(plugin)
    const spec = toScheduleSpec({ name }, { when, work, limits: undefined })
    const schedule = { id, owner, asker: { principal: by.principal }, spec }
    try {
      await gateway.ask(owner, 'add', { schedule, by })
    } catch (error) {
      // Another version has another time.
      if (errorCode(error) !== 'request_idempotency_mismatch') throw error
      await gateway.ask(owner, 'remove', { id, by })
      await gateway.ask(owner, 'add', { schedule, by })
    }
  }
  const syncOne = async (plugin: string): Promise<void> => {
    const view = await plugins.show(plugin)
    const cron = view?.state === 'enabled' ? cronOfManifest(view.manifest) : undefined
    const name: unknown = Object(view?.manifest).name
    if (cron !== undefined) return keep(plugin, typeof name === 'string' ? name : plugin, cron)
    // An object is woken only if it may have one.
    const kept = await index.find(idOf(plugin))
    if (kept) await drop(gateway, kept)
  }

  /** By id: the schedules that plugins' objects keep. */
  const allKept = async (): Promise<Map<string, Schedule>> => {
    const found = new Map<string, Schedule>()
    for (let after = ''; ;) {
      const page = await index.list({ principal: by.principal, limit: pageSize, after })
      for (const one of page) if (one.owner.startsWith('plugin:')) found.set(one.id, one)
      if (page.length < pageSize) return found
      after = page.at(-1)?.id ?? ''
    }
  }

  return async (plugin) => {
    try {
      if (plugin !== undefined) return await syncOne(plugin)
      const [wanted, kept] = await Promise.all([index.ofManifests(), allKept()])
      for (const { plugin: id, name, cron } of wanted) {
        const there = kept.get(idOf(id))
        kept.delete(idOf(id))
        const when = there?.spec.when
        // A schedule that already matches its manifest needs no call.
        if (!when || !('cron' in when) || when.cron !== cron || there.spec.name !== name)
          await keep(id, name, cron)
      }
      for (const one of kept.values()) await drop(gateway, one)
    } catch (error) {
      deps.onFault(error)
    }
  }
}

/**
 * Brings the objects of plugins in line with the enabled plugins: the agent of each receives the events that its
 * manifest subscribes to, in the name of the operator who allowed it; subscriptions of other plugins are removed. A
 * changed text is another subscription. A second pass changes nothing and calls no object. Never throws.
 *
 * @param plugin The changed plugin; absent: all.
 */
export function createPluginSubscriptions(
  deps: PluginSchedulesDeps,
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
      for (const one of left.values()) await drop(gateway, one)
    } catch (error) {
      deps.onFault(error)
    }
  }
}
