import { describe, expect, it } from 'vitest'
import type { ScheduleRequestBody } from '../../../src/contracts/api/requests/schedules.ts'
import type { ScheduleGateway } from '../../../src/contracts/schedule-object.ts'
import { createAgentSchedules } from '../../../src/schedules/agent-schedules.ts'
import { createScheduleHosts, type HostDeps } from '../../../src/schedules/host.ts'
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
  const host = createScheduleHosts({
    clock,
    sha256,
    index: { tell: async () => {} },
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
  return { asked, list, agents: createAgentSchedules({ gateway, sha256, clock }) }
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

  it('changes nothing when asked again, and keeps its key where somebody else says so', async () => {
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

  it('is not made while nobody has said by which key it would work', async () => {
    const { agents, list } = open()
    const { asker: _, ...byOthers } = agent
    await agents.sync(byOthers, by)
    expect(await list()).toEqual([])
  })
})
