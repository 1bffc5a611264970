import { describe, expect, it } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { zeroUsage, type LimitOwner } from '#contracts/lease.ts'
import type { Submission } from '#runtime/session/types/submission.ts'
import { reachedNow, type OwnedLimit } from '../../../src/runtime/session/log/limit-text.ts'
import { ownerOfLimit } from '../../../src/runtime/session/runs/limits.ts'
import {
  adviceFor,
  pauseAt,
  reachedOf,
  whyRefused,
} from '../../../src/runtime/session/runs/limit-pause.ts'
import { toView, type RunRow } from '../../../src/runtime/session/storage/stored-rows.ts'
import type { SessionStore } from '../../../src/runtime/session/storage/store.ts'

const turn: TurnRecord = {
  turn: 1,
  steps: [],
  calls: [],
  modelCalls: [],
  usage: { ...zeroUsage, turns: 0 },
  events: [],
  isDone: false,
}
const ending = { state: 'stopped', code: 'lease_turns', message: 'No more.' } as const
const reachedBy = (owned: OwnedLimit, maxTurns = 0) =>
  reachedOf(ending, [turn], { limits: { ...defaultAgentLimits, maxTurns }, ownerOf: () => owned })
const submission = (more: Partial<Submission> = {}) => more as Submission

describe('E1: a limit that is reached', () => {
  it.each<[LimitOwner, string]>([
    ['agent', 'The limit of 2 turns of the agent is reached: 0 spent'],
    ['request', 'The limit of 2 turns of the request is reached: 0 spent'],
    ['run', 'The limit of 2 turns that was set for the run is reached: 0 spent'],
    ['day', 'The limit of today is used up: 2 turns were left for this run. It has spent 0,'],
    ['caller', 'The limit of 2 turns that its caller gave it is reached: 0 spent'],
  ])('says whose it is: %s', (of, text) => {
    const reached = reachedBy({ of }, 2)
    expect(reached).toMatchObject({ of, allowed: 2 })
    expect(reached.message).toContain(text)
  })

  it('of a session says what the session allows, and what its other runs have spent', () => {
    const reached = reachedBy({ of: 'session', session: { allowed: 3, spent: 3 } })
    expect(reached).toMatchObject({ of: 'session', allowed: 0, spent: 0, needed: 1 })
    expect(reached.message).toBe(
      'The limit of 3 turns of the session is reached: 3 spent by its other runs, 0 by this one, the next step needs a limit of its own of at least 1.',
    )
  })

  it('says how to go on where no person could be asked, by whose limit it is', () => {
    const advice = (of: LimitOwner) => adviceFor(submission(), reachedBy({ of }))
    expect(advice('agent')).toContain('or give the agent more')
    expect(advice('request')).toContain('or ask for more')
    expect(advice('request')).not.toContain('agent')
    expect(advice('session')).toContain('or begin another session')
    const loop = adviceFor(submission(), { code: 'loop_suspected', message: 'Round and round.' })
    expect(loop).toContain('max_repeats')
    expect(adviceFor(submission({ mayRaise: true }), reachedBy({ of: 'agent' }))).toBe('')
  })

  it('N6: of a sub-agent tells its caller that another call gets what is left', () => {
    const lineage = {} as NonNullable<Submission['lineage']>
    const advice = adviceFor(submission({ lineage }), reachedBy({ of: 'caller' }))
    expect(advice).toContain('called again, alone, it gets what is left then')
    expect(advice).not.toContain('No person could be asked')
  })
})

describe('E1: a run that waits at a limit', () => {
  const at = { changed: { limits: { maxTurns: 1 }, count: 1 } }

  it('shows the limit that was set since, which is not enough', () => {
    const reached = reachedBy({ of: 'agent' }, 5)
    expect(reachedNow(reached, {})).toBe(reached)
    const now = reachedNow(reached, at)
    expect(now).toMatchObject({ allowed: 1, of: 'run', needed: 1 })
    expect(now.message).toContain('The limit of 1 turns that was set for the run is reached')
    const loop = { code: 'loop_suspected', message: 'Round and round.' } as const
    expect(reachedNow(loop, at)).toBe(loop)
  })

  it('ends with what was said when its limit was left as it was', () => {
    const message = 'It is dear enough.'
    const denied = { ok: false, error: { code: 'tool_denied', message } } as const
    const answers = {
      call_1_0: { kind: 'outcome', result: { ok: true, output: 'Not this.' } },
      limit_2_1: { kind: 'outcome', result: denied },
    } as const
    expect(whyRefused({ answers })).toBe(' It is dear enough.')
    expect(whyRefused({})).toBe('')
  })

  it('shows nothing of how it is kept', () => {
    const options = { limits: defaultAgentLimits, changes: 3, nowMs: 1 }
    const view = toView(pauseAt(ending, [turn], options), 10, () => '')
    expect(view).toMatchObject({ kind: 'budget', call: 'limit_1_1', expiresAtMs: 11 })
    expect(view).not.toHaveProperty('changes')
  })
})

describe('E1: whose a limit is', () => {
  const rowOf = (more: Partial<Submission>, changed?: RunRow['changed']) =>
    ({ order: 1, submission: more, ...(changed && { changed }) }) as RunRow
  const store = (limits?: object) =>
    ({ session: () => ({ limits }), unfinishedRuns: () => [], spent: () => undefined }) as never
  const own = { ...defaultAgentLimits, maxTurns: 10 }
  const ownerOf = (row: RunRow, allowed: number, of: SessionStore = store()) =>
    ownerOfLimit(row, { store: of, own }, { limit: 'maxTurns', allowed }).of

  it('is told by the least of them', () => {
    expect(ownerOf(rowOf({}), 10)).toBe('agent')
    expect(ownerOf(rowOf({ limits: { maxTurns: 4 } }), 4)).toBe('request')
    const changed = { limits: { maxTurns: 7 }, count: 1 }
    expect(ownerOf(rowOf({ limits: { maxTurns: 4 } }, changed), 7)).toBe('run')
    expect(ownerOf(rowOf({}), 3)).toBe('day')
    expect(ownerOf(rowOf({ lineage: {} as never }), 3)).toBe('caller')
  })
})
