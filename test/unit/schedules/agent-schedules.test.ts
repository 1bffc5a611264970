import { describe, expect, it } from 'vitest'
import { agentDefinition } from '../../../src/contracts/manifest/agent-definition.ts'
import { onDemandDefinition } from '../../../src/features/agents/types.ts'
import type {
  ScheduleRequestBody,
  ScheduleView,
  ToldSchedule,
} from '../../../src/runtime/session/types/schedule.ts'
import type { ScheduledAgent } from '../../../src/runtime/session/types/agent-schedules.ts'
import type { ScheduleGateway } from '../../../src/runtime/session/types/schedule-object.ts'
import { createAgentSchedules } from '../../../src/features/schedules/plugin-schedules.ts'
import { createScheduleHosts, type HostDeps } from '../../../src/features/schedules/host.ts'
import { fromReply } from '../../../src/contracts/reply.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const by = { principal: 'ada', trace: '' }
const asker = { principal: 'ada', key: 'key_1' }
const schedule: ScheduleRequestBody = {
  when: { everyMinutes: 30 },
  task: 'Look at the tickets.',
}

/** The object of the owner, and what was asked of it. */
function open() {
  const clock = { nowMs: () => 1_000, sleep: async () => {} }
  const told: ToldSchedule[] = []
  const host = createScheduleHosts({
    clock,
    sha256,
    index: { tell: async (all: readonly ToldSchedule[]) => void told.push(...all) },
    createJob: () => ({ restore: () => {}, at: () => {}, run: async () => undefined }),
  } as unknown as HostDeps)(createPrincipalStorage() as unknown as DurableObjectStorage, {
    jobs: { get: () => undefined, push: async () => {} },
    start: async () => {},
    rearmAlarm: async () => {},
  })
  const asked: string[] = []
  const ask = async (keeper: string, verb: string, given: unknown) => {
    asked.push(`${verb} ${keeper}`)
    return fromReply(await host.answer({ verb, ask: given } as never))
  }
  const gateway = { ask } as unknown as ScheduleGateway
  const list = () => gateway.ask('principal:ada', 'list', { limit: 10 })
  let behind: ScheduledAgent[] = []
  const index = {
    agentsBehind: async () => behind,
    agentSettled: async ({ id }: Pick<ScheduledAgent, 'id'>) =>
      void (behind = behind.filter((one) => one.id !== id)),
  }
  const faults: unknown[] = []
  const onFault = (error: unknown) => void faults.push(error)
  const agents = createAgentSchedules({ gateway, index, onFault, sha256, clock })
  const lag = (...all: ScheduledAgent[]) => void (behind = all)
  return { asked, list, told, gateway, agents, lag, faults, behind: () => behind }
}

describe('the schedule in the text of an agent', () => {
  const agent = { id: 'tickets', owner: 'ada', isActive: true, schedule, asker }

  it('M9: is kept with its owner, runs that agent in the owner’s name, and is the agent’s', async () => {
    const { agents, list } = open()
    await agents.sync(agent, by)
    expect(await list()).toMatchObject([
      {
        owner: 'agent:tickets',
        asker,
        spec: { name: 'tickets', work: { agent: 'tickets', task: 'Look at the tickets.' } },
        nextMs: 1_800_000,
      },
    ])
  })

  it.each<[string, object]>([
    ['times that are over', { when: { at: [0] }, task: 'Look.' }],
    ['a day that never comes', { when: { cron: '0 0 30 2 *', timeZone: 'UTC' }, task: 'Look.' }],
  ])(
    'A23: is refused before its agent is made, with %s, and nothing of it is kept',
    async (_what, never) => {
      const { agents, list, told } = open()
      const made = { ...agent, schedule: never } as ScheduledAgent
      await expect(agents.check(made, by)).rejects.toMatchObject({
        code: 'request_invalid',
        message: 'when: it is never due from now on.',
      })
      await agents.check(agent, by)
      expect([await list(), told]).toEqual([[], []])
    },
  )

  it('A23: an existing schedule is checked as a change, and stays', async () => {
    const { agents, list } = open()
    await agents.sync(agent, by)
    const never = { ...agent, schedule: { when: { at: [0] }, task: 'Look.' } } as ScheduledAgent
    await expect(agents.check(never, by)).rejects.toThrow('never due')
    await agents.check(agent, by)
    expect(await list()).toMatchObject([{ nextMs: 1_800_000 }])
  })

  it('M9: is made the day after, where its making was cut off, and one that cannot be made keeps none from it', async () => {
    const { agents, list, lag, faults, behind } = open()
    const { asker: author, ...rest } = agent
    const never = { when: { cron: '0 0 31 2 *', timeZone: 'UTC' }, task: 'Look.' }
    lag(
      { ...rest, id: 'fails', author, behind: 1, schedule: never },
      { ...rest, author, behind: 2 },
    )
    await agents.syncBehind()
    expect(await list()).toMatchObject([{ owner: 'agent:tickets', asker }])
    expect([faults.length, behind().map(({ id }) => id)]).toEqual([1, ['fails']])
  })

  it('changes nothing when asked again, and keeps its key when another principal asks', async () => {
    const { agents, list, asked } = open()
    await agents.sync(agent, by)
    const before = await list()
    asked.length = 0
    await agents.sync(agent, by)
    const { asker: _, ...byOthers } = agent
    await agents.sync(byOthers, { principal: 'operator', trace: '' })
    expect(asked.filter((one) => /^(add|edit|remove)/.test(one))).toEqual([])
    expect(await list()).toEqual(before)
  })

  it('is changed with it, and the next slot only with its times', async () => {
    const { agents, list } = open()
    await agents.sync(agent, by)
    await agents.sync({ ...agent, schedule: { ...schedule, task: 'Look.' } }, by)
    expect(await list()).toMatchObject([{ spec: { work: { task: 'Look.' } }, nextMs: 1_800_000 }])
    await agents.sync({ ...agent, schedule: { ...schedule, when: { everyMinutes: 5 } } }, by)
    expect(await list()).toMatchObject([{ nextMs: 300_000 }])
  })

  it('is paused while the agent is archived or waits, and gone with its text or the agent', async () => {
    const { agents, list } = open()
    await agents.sync({ ...agent, isActive: false }, by)
    expect(await list()).toMatchObject([{ paused: { reason: 'its agent does not run' }, next: [] }])
    await agents.sync(agent, by)
    expect((await list())[0]).not.toHaveProperty('paused')
    const { schedule: _, ...without } = agent
    await agents.sync(without, by)
    expect(await list()).toEqual([])
    await agents.sync(agent, by)
    await agents.removed(agent, by)
    expect(await list()).toEqual([])
  })

  it('is not made while no key is given by which it would work', async () => {
    const { agents, list } = open()
    const { asker: _, ...byOthers } = agent
    await agents.sync(byOthers, by)
    expect(await list()).toEqual([])
  })

  it('works by the key its owner wrote it by, where an operator brings it into force', async () => {
    const { agents, list } = open()
    const { asker: author, ...byOthers } = agent
    const approved = { principal: 'operator', trace: '' }
    await agents.sync({ ...byOthers, author }, approved)
    expect(await list()).toMatchObject([{ asker: author }])
    await agents.sync({ ...byOthers, author: { principal: 'ada', key: 'key_0' } }, approved)
    expect(await list()).toMatchObject([{ asker: author }])
  })
})

describe('what the text of an agent subscribes to', () => {
  const subscribes = [
    { event: 'billing.paid', task: 'Write it into the books.', runs_a_day: 5 },
    { event: 'billing.*', task: 'Look for fraud.' },
  ]
  const agent = { id: 'books', owner: 'ada', isActive: true, subscribes, asker }
  const openHeard = () => {
    const { told, gateway, ...rest } = open()
    /** As its object has them: the list of all follows by a moment. */
    const heard = async () => {
      const ids = [...new Set(told.map(({ id }) => id))]
      const shown = ids.map((id) => gateway.ask('principal:ada', 'show', { id }).catch(() => []))
      return (await Promise.all(shown)).flat() as readonly ScheduleView[]
    }
    return { ...rest, heard }
  }

  it('is heard in the owner’s name, and is the agent’s', async () => {
    const { agents, heard } = openHeard()
    await agents.sync(agent, by)
    expect(await heard()).toMatchObject([
      {
        owner: 'agent:books',
        asker,
        spec: { when: { event: 'billing.paid', of: 'own' }, daily: { runs: 5 } },
      },
      { spec: { when: { event: 'billing.*' }, work: { agent: 'books', task: 'Look for fraud.' } } },
    ])
  })

  it('changes nothing when asked again, and what reads otherwise is another one', async () => {
    const { agents, asked, heard } = openHeard()
    await agents.sync(agent, by)
    asked.length = 0
    await agents.sync(agent, by)
    expect(asked.filter((one) => /^(add|edit|remove)/.test(one))).toEqual([])
    const [first, second] = subscribes
    await agents.sync({ ...agent, subscribes: [{ ...first!, task: 'Nothing.' }, second!] }, by)
    expect((await heard()).map(({ spec }) => Object(spec.work).task)).toEqual([
      'Look for fraud.',
      'Nothing.',
    ])
  })

  it('is paused while the agent does not run, and gone with its text or the agent', async () => {
    const { agents, heard } = openHeard()
    await agents.sync({ ...agent, isActive: false }, by)
    expect((await heard()).map(({ paused }) => paused?.reason)).toEqual([
      'its agent does not run',
      'its agent does not run',
    ])
    await agents.sync(agent, by)
    expect((await heard()).filter(({ paused }) => paused)).toEqual([])
    await agents.sync({ ...agent, subscribes: undefined }, by)
    expect(await heard()).toEqual([])
    await agents.sync(agent, by)
    await agents.removed(agent, by)
    expect(await heard()).toEqual([])
  })

  it('is refused for an agent that lives for one request', () => {
    const { error } = onDemandDefinition.safeParse({
      agent: { instructions: 'You write.', subscribes },
    })
    expect(error?.issues).toMatchObject([{ path: ['agent', 'subscribes'] }])
    expect(error?.issues[0]?.message).toContain('agents that are kept')
  })
})

it('a heartbeat of an agent’s schedule needs a check', () => {
  const beating = (more: object) =>
    agentDefinition.safeParse({
      id: 'tickets',
      name: 'Tickets',
      description: 'Looks at tickets.',
      agent: { instructions: 'You look.' },
      schedule: {
        when: { everyMinutes: 30, hours: '8-22' },
        task: 'Look.',
        heartbeat: true,
        ...more,
      },
    })
  expect(beating({}).error?.issues).toMatchObject([{ path: ['schedule', 'check'] }])
  expect(beating({ check: { tool: 'memory__recall', has: 'notes' } }).success).toBe(true)
})
