import type { AgentSchedules, ScheduledAgent } from '#contracts/agent-schedules.ts'
import type { ScheduleGateway } from '#contracts/schedule-object.ts'
import { sameWhen, toScheduleSpec, toWhen } from '#contracts/schedule-spec.ts'
import type { ScheduleChanger, ScheduleView } from '#contracts/schedule.ts'
import type { Sources } from '#contracts/sources.ts'
import { idFrom, ifThere } from './own-schedules.ts'

export interface AgentSchedulesDeps extends Pick<Sources, 'sha256' | 'clock'> {
  readonly gateway: Pick<ScheduleGateway, 'ask'>
}

/** Schedules of agents that are no plugin's, for the room that keeps those. */
export function createAgentSchedules(deps: AgentSchedulesDeps): AgentSchedules {
  const { gateway, sha256, clock } = deps
  const placeOf = ({ id, owner }: Pick<ScheduledAgent, 'id' | 'owner'>) => ({
    keeper: `principal:${owner}` as const,
    id: idFrom('sch', ['agent-schedule', owner, id], sha256),
  })
  const specOf = async (
    { id, schedule }: ScheduledAgent,
    keeper: `principal:${string}`,
    there: ScheduleView | undefined,
  ) => {
    const { when: asked, task = '' } = schedule ?? {}
    if (!schedule || !asked) return undefined
    const zone = await gateway.ask(keeper, 'settings', {})
    const when = sameWhen(toWhen(asked, { ...zone, nowMs: clock.nowMs() }), there?.spec.when)
    const name = schedule.name ?? id
    return toScheduleSpec(
      { ...schedule, name },
      { when, work: { agent: id, task }, limits: undefined },
    )
  }
  const syncSchedule = async (agent: ScheduledAgent, by: ScheduleChanger): Promise<void> => {
    const { keeper, id } = placeOf(agent)
    const there = await ifThere(gateway.ask(keeper, 'show', { id }))
    const spec = await specOf(agent, keeper, there)
    if (!spec) return void (there && (await ifThere(gateway.ask(keeper, 'remove', { id, by }))))
    const { asker = there?.asker } = agent
    // Nobody has said by which key it would work.
    if (!asker) return
    if (!there) {
      const schedule = { id, owner: `agent:${agent.id}`, asker, spec } as const
      return void (await gateway.ask(keeper, 'add', { schedule, by }))
    }
    const isSame = JSON.stringify([spec, asker]) === JSON.stringify([there.spec, there.asker])
    if (!isSame) await gateway.ask(keeper, 'edit', { id, spec, was: there.spec, asker, by })
  }
  return {
    async sync(agent, by) {
      await syncSchedule(agent, by)
      const does = agent.isActive ? 'resume' : 'pause'
      await gateway.ask(placeOf(agent).keeper, 'ofAgent', { agent: agent.id, does, by })
    },
    async removed(agent, by) {
      await gateway.ask(placeOf(agent).keeper, 'ofAgent', { agent: agent.id, does: 'remove', by })
    },
  }
}
