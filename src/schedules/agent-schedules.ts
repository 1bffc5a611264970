import type { AgentSchedules, ScheduledAgent } from '#contracts/agent-schedules.ts'
import { errorCode } from '#contracts/errors.ts'
import { lengthPrefixed } from '#contracts/naming.ts'
import type { ScheduleGateway, ScheduleIndex } from '#contracts/schedule-object.ts'
import { sameWhen, toScheduleSpec, toWhen } from '#contracts/schedule-spec.ts'
import type { ScheduleChanger, ScheduleSpec, ScheduleView } from '#contracts/schedule.ts'
import type { Sources } from '#contracts/sources.ts'
import { specOfManifest } from '#contracts/subscription-spec.ts'

export interface AgentSchedulesDeps extends Pick<Sources, 'sha256' | 'clock'> {
  readonly gateway: Pick<ScheduleGateway, 'ask'>
  readonly index: Pick<ScheduleIndex, 'agentsBehind' | 'agentSettled'>
  readonly onFault: (error: unknown) => void
}

/** In a day: each is a few questions. */
const maxBehind = 50

/** Schedules and subscriptions of agents that are no plugin's, for the room that keeps those. */
export function createAgentSchedules(deps: AgentSchedulesDeps): AgentSchedules {
  const { gateway, index, onFault, sha256, clock } = deps
  const keeperOf = ({ owner }: Pick<ScheduledAgent, 'owner'>) => `principal:${owner}` as const
  const idOf = (parts: readonly string[]) => sha256(lengthPrefixed(parts)).slice(0, 22)
  const shown = async (agent: ScheduledAgent, id: string): Promise<ScheduleView | undefined> =>
    gateway.ask(keeperOf(agent), 'show', { id }).catch((error: unknown) => {
      if (errorCode(error) !== 'request_not_found') throw error
      return undefined
    })
  /** That of its schedule: another one is the same with other times, so that no slot is lost. */
  const scheduleOf = async (agent: ScheduledAgent) => {
    const { id: agentId, owner, schedule } = agent
    const { when: asked, task = '' } = schedule ?? {}
    if (!schedule || !asked) return []
    const id = `sch_${idOf(['agent-schedule', owner, agentId])}`
    const there = await shown(agent, id)
    const zone = await gateway.ask(keeperOf(agent), 'settings', {})
    const when = sameWhen(toWhen(asked, { ...zone, nowMs: clock.nowMs() }), there?.spec.when)
    const work = { agent: agentId, task }
    const named = { ...schedule, name: schedule.name ?? agentId }
    return [{ id, spec: toScheduleSpec(named, { when, work, limits: undefined }), there }]
  }
  /** A subscription's id says all of it: one that reads otherwise is another one. */
  const subscriptionsOf = (agent: ScheduledAgent) =>
    (agent.subscribes ?? []).map(async (asked) => {
      const parts = ['agent-subscription', agent.owner, agent.id, JSON.stringify(asked)]
      const id = `sub_${idOf(parts)}`
      return { id, spec: specOfManifest(asked, agent.id), there: await shown(agent, id) }
    })
  const keep = async (agent: ScheduledAgent, { id, spec, there }: Wanted, by: ScheduleChanger) => {
    const { asker = there?.asker ?? agent.author } = agent
    // Nobody has said by which key it would work.
    if (!asker) return
    const keeper = keeperOf(agent)
    if (!there) {
      const schedule = { id, owner: `agent:${agent.id}`, asker, spec } as const
      const made = await gateway.ask(keeper, 'add', { schedule, by })
      // Whoever emits looks at the list, and what is emitted from now on is to be heard.
      return void (await gateway.ask(keeper, 'poke', { schedules: [made] }))
    }
    const isSame = JSON.stringify([spec, asker]) === JSON.stringify([there.spec, there.asker])
    if (!isSame) await gateway.ask(keeper, 'edit', { id, spec, was: there.spec, asker, by })
  }
  const sync: AgentSchedules['sync'] = async (agent, by) => {
    const keeper = keeperOf(agent)
    const wanted = [...(await scheduleOf(agent)), ...(await Promise.all(subscriptionsOf(agent)))]
    const but = wanted.map(({ id }) => id)
    await gateway.ask(keeper, 'ofAgent', { agent: agent.id, does: 'remove', but, by })
    for (const one of wanted) await keep(agent, one, by)
    const does = agent.isActive ? 'resume' : 'pause'
    await gateway.ask(keeper, 'ofAgent', { agent: agent.id, does, by })
    if (agent.behind) await index.agentSettled(agent)
  }
  return {
    sync,
    async syncBehind() {
      const by = { principal: 'operator', trace: '' }
      const behind = await index.agentsBehind(maxBehind).catch((error: unknown) => {
        onFault(error)
        return []
      })
      for (const agent of behind) await sync(agent, by).catch(onFault)
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
