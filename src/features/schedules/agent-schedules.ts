import type { AgentSchedules, ScheduledAgent } from '#runtime/session/types/agent-schedules.ts'
import type { ScheduleGateway, ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import { sameWhen, toScheduleSpec, toWhen } from './types/schedule-spec.ts'
import type {
  ScheduleChanger,
  ScheduleSpec,
  ScheduleView,
} from '#runtime/session/types/schedule.ts'
import type { Sources } from '#contracts/sources.ts'
import { specOfManifest } from './types/schedule-spec.ts'
import { byOperator, idFrom, ifThere } from './own-schedules.ts'

export interface AgentSchedulesDeps extends Pick<Sources, 'sha256' | 'clock'> {
  readonly gateway: ScheduleGateway
  readonly index: Pick<ScheduleIndex, 'agentsBehind' | 'agentSettled'>
  readonly onFault: (error: unknown) => void
}

/** In a day: each is a few questions. */
const maxBehind = 50

/** Schedules and subscriptions of agents that are no plugin's, for the room that keeps those. */
export function createAgentSchedules(deps: AgentSchedulesDeps): AgentSchedules {
  const { gateway, index, onFault, sha256, clock } = deps
  const keeperOf = ({ owner }: Pick<ScheduledAgent, 'owner'>) => `principal:${owner}` as const
  const shown = (agent: ScheduledAgent, id: string): Promise<ScheduleView | undefined> =>
    ifThere(gateway.ask(keeperOf(agent), 'show', { id }))
  /** That of its schedule: another one is the same with other times, so that no slot is lost. */
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
