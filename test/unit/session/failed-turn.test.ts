import { describe, expect, it } from 'vitest'
import type { Compaction } from '#contracts/context.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { joinLabels, labelFrom } from '#contracts/label.ts'
import { zeroUsage } from '#contracts/lease.ts'
import { failedTurn, type FailedTurnOptions } from '../../../src/runtime/session/runs/run-end.ts'
import { says } from '../../fakes/kernel.ts'

const call = { id: 'call_1', name: 'clock', tool: 'clock', input: {}, definitionHash: 'd' }
const turn: TurnRecord = {
  turn: 1,
  steps: [
    { type: 'message', message: 'I look.' },
    { type: 'tool', callId: 'call_1', toolId: 'clock', input: {} },
  ],
  calls: [{ ...call, isRepeatable: true, startedAtMs: 1, outcome: says('12:00'), durationMs: 3 }],
  modelCalls: [{ provider: 'fake', model: 'm', inputTokens: 1, outputTokens: 1, costNanoUsd: 0 }],
  usage: { ...zeroUsage, tokens: 2, turns: 1, toolCalls: 1, modelCalls: 1 },
  events: [],
  isDone: true,
}

const givenUp = (
  turns: readonly TurnRecord[],
  error = { code: 'run_given_up', message: 'Interrupted too often.' },
) =>
  failedTurn({
    row: { id: 'run_1', submission: { agent: 'a', trace: 't' }, createdAtMs: 5, startedAtMs: 10 },
    turns,
    session: 'ses_1',
    seq: 7,
    nowMs: 20,
    error,
    detail: undefined,
    nextTurn: 2,
  } as unknown as FailedTurnOptions)

describe('a run that is given up', () => {
  it('says in its result what it did and asked, like any other', () => {
    const { final } = givenUp([turn])
    expect(final.actions).toEqual([{ callId: 'call_1', tool: 'clock', ok: true, durationMs: 3 }])
    expect(final.provenance.models).toEqual(['fake/m'])
    expect(final).toMatchObject({ state: 'failed', success: false, result: '', steps: 1 })
    expect(final.error).toEqual({ code: 'run_given_up', message: 'Interrupted too often.' })
  })

  it('keeps what was heard in the turn that it closes, and what was decided of its context', () => {
    const received = [{ role: 'user', text: 'and this', taint: ['user'] }] as const
    const compactions = [{ version: 1, covers: 9 } as Compaction]
    const cut: TurnRecord = { ...turn, steps: [], calls: [], isDone: false, received, compactions }
    const pause = { kind: 'budget' } as TurnRecord['pause'] & object
    const { turn: last } = givenUp([{ ...cut, pause }])
    expect(last).toMatchObject({ received, compactions, isDone: true })
    expect(last.pause).toBeUndefined()
  })

  it('T11: keeps the label of what its model had read, in the turn and in the result', () => {
    const label = labelFrom('page')
    const { turn: last, final } = givenUp([{ ...turn, label, isDone: false }])
    expect([last.label, final.label]).toEqual([label, joinLabels([label, undefined])])
  })

  it('E1: ends with the answer so far where its day has nothing more when it goes on', () => {
    const { final } = givenUp([turn], { code: 'lease_tokens', message: 'The day is used up.' })
    expect(final).toMatchObject({ state: 'stopped', result: 'I look.' })
  })

  it('books what a call without an outcome held, in the turn that it closes', () => {
    const reserved = { tokens: 40, costNanoUsd: 0, turns: 0, toolCalls: 1, children: 0 }
    const { outcome: _none, ...open } = turn.calls[0]!
    const cut = { ...turn, isDone: false, calls: [{ ...open, reserved }] }
    const { turn: last, final } = givenUp([cut])
    expect([last.turn, last.isDone, last.final]).toEqual([1, true, final])
    expect([final.usage.tokens, last.usage.tokens, final.usage.toolCalls]).toEqual([42, 42, 2])
  })
})
