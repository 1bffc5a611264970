import type { AgentResult, RunError } from '#contracts/agent.ts'
import { heldBy, type TurnRecord } from '#contracts/journal.ts'
import { addUsage, zeroUsage } from '#contracts/lease.ts'
import type { RunRow } from '../storage/store.ts'

export interface FailedTurnOptions {
  readonly row: RunRow
  readonly turns: readonly TurnRecord[]
  readonly session: string
  readonly seq: number
  readonly nowMs: number
  readonly error: RunError
  readonly detail: string | undefined
  /** Where it goes if no turn of it is open. */
  readonly nextTurn: number
}

/** The last turn of a run that was given up: what it spent is kept, nothing more is done. */
export function failedTurn(options: FailedTurnOptions): {
  readonly turn: TurnRecord
  readonly final: AgentResult
} {
  const { row, turns, session, seq, nowMs, error, detail, nextTurn } = options
  const state = error.code.startsWith('lease_') ? 'stopped' : 'failed'
  const open = turns.at(-1)?.isDone === false ? turns.at(-1) : undefined
  // What has no outcome may have spent all it held.
  const held = heldBy(open?.calls ?? [])
  const usage = turns.reduce((sum, turn) => addUsage(sum, turn.usage), held)
  const { agent, trace } = row.submission
  const final: AgentResult = {
    id: row.id,
    success: false,
    state,
    result: '',
    error,
    startedAtMs: row.startedAtMs ?? row.createdAtMs,
    finishedAtMs: Math.max(row.startedAtMs ?? row.createdAtMs, nowMs),
    sessionId: session,
    agent,
    trace,
    steps: turns.length,
    actions: [],
    modelCalls: turns.flatMap(({ modelCalls }) => modelCalls),
    usage,
    costEstimateUsd: usage.costNanoUsd / 1e9,
    provenance: { template: '', version: '', models: [] },
  }
  const event = {
    seq,
    run: row.id,
    agent,
    trace,
    atMs: nowMs,
    type: 'run_finished',
    data: { state, turns: turns.length, ...error, ...(detail !== undefined && { detail }) },
  } as const
  const turn: TurnRecord = {
    turn: open?.turn ?? nextTurn,
    steps: open?.steps ?? [],
    calls: open?.calls ?? [],
    modelCalls: open?.modelCalls ?? [],
    usage: addUsage(open?.usage ?? zeroUsage, held),
    events: [...(open?.events ?? []), event],
    isDone: true,
    final,
  }
  return { turn, final }
}
