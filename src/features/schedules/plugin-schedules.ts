import { errorCode } from '#contracts/errors.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import {
  cronOfManifest,
  toScheduleSpec,
  workOfPlugin,
  sameWhen,
  toWhen,
  specOfManifest,
  subscriptionsOfManifest,
} from './types/schedule-spec.ts'
import {
  keeperOf,
  type Schedule,
  type ScheduleSpec,
  type ScheduleChanger,
  type ScheduleView,
  type SubscriptionManifest,
} from '#runtime/session/types/schedule.ts'
import type { ScheduleGateway, ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import type { Sources } from '#contracts/sources.ts'
import { byOperator, idFrom, ifThere } from './own-schedules.ts'
import type { AgentSchedules, ScheduledAgent } from '#runtime/session/types/agent-schedules.ts'

interface AgentSchedulesDeps extends Pick<Sources, 'sha256' | 'clock'> {
  readonly gateway: ScheduleGateway
  readonly index: Pick<ScheduleIndex, 'agentsBehind' | 'agentSettled'>
  readonly onFault: (error: unknown) => void
}

/** In a day: each is a few questions. */
const maxBehind = 50

/** Brings the schedules and subscriptions of agents in line with the agents' texts. Leaves out plugins' agents. */
export function createAgentSchedules(deps: AgentSchedulesDeps): AgentSchedules {
  const { gateway, index, onFault, sha256, clock } = deps
  const keeperOf = ({ owner }: Pick<ScheduledAgent, 'owner'>) => `principal:${owner}` as const
  const shown = (agent: ScheduledAgent, id: string): Promise<ScheduleView | undefined> =>
    ifThere(gateway.ask(keeperOf(agent), 'show', { id }))
  /** The schedule that an agent's text asks for. New times change this schedule, so its due slots are not lost. */
  const scheduleOf = async (agent: ScheduledAgent) => {
    const { id: agentId, owner, schedule } = agent
    const { when: asked, task = '' } = schedule ?? {}
    if (!schedule || !asked) return []
    const id = idFrom('sch', ['agent-schedule', owner, agentId], sha256)
    const there = await shown(agent, id)
    const zone = await gateway.ask(keeperOf(agent), 'settings', {})
    const when = sameWhen(toWhen(asked, { ...zone, nowMs: clock.nowMs() }), there?.spec.when)
    const work = { agent: agentId, task }
    const named = { ...schedule, name: schedule.name ?? agentId }
    return [{ id, spec: toScheduleSpec(named, { when, work, limits: undefined }), there }]
  }
  /** A subscription's id covers its whole text: a changed text is another subscription. */
  const subscriptionsOf = (agent: ScheduledAgent) =>
    (agent.subscribes ?? []).map(async (asked) => {
      const parts = ['agent-subscription', agent.owner, agent.id, JSON.stringify(asked)]
      const id = idFrom('sub', parts, sha256)
      return { id, spec: specOfManifest(asked, agent.id), there: await shown(agent, id) }
    })
  const keep = async (
    agent: ScheduledAgent,
    { id, spec, there }: Wanted,
    { by, isDryRun = false }: { readonly by: ScheduleChanger; readonly isDryRun?: boolean },
  ) => {
    const { asker = there?.asker ?? agent.author } = agent
    // There is no key by which the schedule could work.
    if (!asker) return
    const keeper = keeperOf(agent)
    if (!there) {
      const schedule = { id, owner: `agent:${agent.id}`, asker, spec } as const
      const made = await gateway.ask(keeper, 'add', { schedule, by, isDryRun })
      if (isDryRun) return
      // Emitting sessions read the list of subscriptions: it must be in D1 before the next event.
      return void (await gateway.ask(keeper, 'poke', { schedules: [made] }))
    }
    const isSame = JSON.stringify([spec, asker]) === JSON.stringify([there.spec, there.asker])
    if (!isSame)
      await gateway.ask(keeper, 'edit', { id, spec, was: there.spec, asker, by, isDryRun })
  }
  const wantedOf = async (agent: ScheduledAgent): Promise<readonly Wanted[]> => [
    ...(await scheduleOf(agent)),
    ...(await Promise.all(subscriptionsOf(agent))),
  ]
  const sync: AgentSchedules['sync'] = async (agent, by) => {
    const keeper = keeperOf(agent)
    const wanted = await wantedOf(agent)
    const but = wanted.map(({ id }) => id)
    await gateway.ask(keeper, 'ofAgent', { agent: agent.id, does: 'remove', but, by })
    for (const one of wanted) await keep(agent, one, { by })
    const does = agent.isActive ? 'resume' : 'pause'
    await gateway.ask(keeper, 'ofAgent', { agent: agent.id, does, by })
    if (agent.behind) await index.agentSettled(agent)
  }
  return {
    sync,
    async check(agent, by) {
      if (!agent.schedule && !agent.subscribes?.length) return
      for (const one of await wantedOf(agent)) await keep(agent, one, { by, isDryRun: true })
    },
    async syncBehind() {
      const behind = await index.agentsBehind(maxBehind).catch((error: unknown) => {
        onFault(error)
        return []
      })
      for (const agent of behind) await sync(agent, byOperator).catch(onFault)
    },
    async removed(agent, by) {
      await gateway.ask(keeperOf(agent), 'ofAgent', { agent: agent.id, does: 'remove', by })
    },
  }
}

interface Wanted {
  readonly id: string
  readonly spec: ScheduleSpec
  /** As it is now, if it is. */
  readonly there: ScheduleView | undefined
}

export interface PluginSchedulesDeps extends Pick<Sources, 'sha256'> {
  readonly gateway: ScheduleGateway
  readonly index: ScheduleIndex
  readonly plugins: Pick<PluginAdministration, 'show'>
  readonly onFault: (error: unknown) => void
}

const pageSize = 500

const drop = (gateway: ScheduleGateway, one: Schedule) =>
  ifThere(gateway.ask(keeperOf(one), 'remove', { id: one.id, by: byOperator }))

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
    const schedule = { id, owner, asker: { principal: byOperator.principal }, spec }
    try {
      await gateway.ask(owner, 'add', { schedule, by: byOperator })
    } catch (error) {
      // Another version has another time.
      if (errorCode(error) !== 'request_idempotency_mismatch') throw error
      await gateway.ask(owner, 'remove', { id, by: byOperator })
      await gateway.ask(owner, 'add', { schedule, by: byOperator })
    }
  }
  const syncOne = async (plugin: string): Promise<void> => {
    const view = await plugins.show(plugin)
    const cron = view?.state === 'enabled' ? cronOfManifest(view.manifest) : undefined
    const name: unknown = Object(view?.manifest).name
    if (cron !== undefined) return keep(plugin, typeof name === 'string' ? name : plugin, cron)
    // The index is read first: an object without this schedule is not woken.
    const kept = await index.find(idOf(plugin))
    if (kept) await drop(gateway, kept)
  }

  /** By id: the schedules that plugins' objects keep. */
  const allKept = async (): Promise<Map<string, Schedule>> => {
    const found = new Map<string, Schedule>()
    for (let after = ''; ;) {
      const page = await index.list({ principal: byOperator.principal, limit: pageSize, after })
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
    const schedule = { id, owner, asker: { principal: byOperator.principal }, spec }
    await gateway.ask(owner, 'add', { schedule, by: byOperator })
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
