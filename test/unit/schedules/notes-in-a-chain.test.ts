import { describe, expect, it } from 'vitest'
import type { Slot } from '../../../src/runtime/session/types/schedule.ts'
import type { SessionTask } from '#runtime/session/types/session-entry.ts'
import { createDeliver, type DeliverDeps } from '../../../src/features/schedules/deliver.ts'
import { createFloorKeeper } from '../../../src/runtime/session/floor-keeper.ts'
import { scheduleOf } from '../../fakes/schedules.ts'

const chain = { cause: 'ses:1', depth: 2, via: ['sub_a', 'sub_b'], maxDepth: 4, expiresAtMs: 9 }
const trace = 'a'.repeat(32)

/** What a session is asked for a notice of a slot. */
async function noted(cause: object | undefined): Promise<SessionTask | undefined> {
  let asked: SessionTask | undefined
  const submitAs = (_asker: unknown, ask: SessionTask) => {
    asked = ask
    return { submit: async () => ({ ok: true, value: {} }) }
  }
  const deliver = createDeliver({ submitAs } as unknown as DeliverDeps)
  const slot = { schedule: 'sub_b', slotMs: 1, text: 'noted', ...(cause && { cause }) } as Slot
  await deliver({ to: 'session', session: 'ses_1' }, { schedule: scheduleOf(), slot, key: 'key' })
  return asked
}

describe('a run that only notes something', () => {
  it('Y28: of what an event began is part of its chain and has its trace', async () => {
    expect(await noted({ id: 'ses:7', trace, chain })).toMatchObject({ isNote: true, trace, chain })
  })

  it('Y28: of what the clock began is in no chain', async () => {
    expect(await noted(undefined)).not.toHaveProperty('chain')
  })

  it('Y28: of a conversation that was handed back is part of the chain that handed it over', async () => {
    const nowMs = 1_000
    const floor = {
      id: 'run_1',
      agent: 'holder',
      terms: { timeoutMs: 1 },
      untilMs: 10,
      spent: {},
    }
    const row = { id: 'run_1', submission: { principal: 'ada', trace, agent: 'clerk', chain } }
    const admitted: object[] = []
    const store = {
      floor: () => floor,
      setFloor: () => {},
      writeFloor: () => {},
      findRun: () => row,
      unfinishedRuns: () => [],
      together: (work: () => void) => work(),
    }
    const parts = {
      store,
      children: { ofRun: () => [] },
      todo: { add: () => {} },
      hub: { emit: () => {} },
      upkeep: { carry: () => {} },
    }
    const scope = {
      runtime: { clock: { nowMs: () => nowMs } },
      identity: { id: 'ses_1' },
      current: { parts },
      own: () => {},
      refuseWhileDeleting: () => {},
    } as never
    const keeper = createFloorKeeper(scope, {
      admit: async (_session: string, request: object) => {
        admitted.push(request)
        return {}
      },
    } as never)
    keeper.expire()
    expect(admitted).toMatchObject([{ isNote: true, trace, chain }])
  })
})
