import type { AgentResult, RunError } from '#contracts/agent.ts'
import { toAgentResult } from '#runtime/kernel/types/agent-result.ts'
import { heldBy, type TurnRecord } from '#runtime/kernel/types/journal.ts'
import { addUsage, zeroUsage } from '#contracts/lease.ts'
import type { RunRow } from '../storage/stored-rows.ts'

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
  const { agent, trace } = row.submission
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
    ...(open?.received && { received: open.received }),
    ...(open?.compactions && { compactions: open.compactions }),
    ...(open?.label && { label: open.label }),
    steps: open?.steps ?? [],
    calls: open?.calls ?? [],
    modelCalls: open?.modelCalls ?? [],
    // What has no outcome may have spent all it held.
    usage: addUsage(open?.usage ?? zeroUsage, heldBy(open?.calls ?? [])),
    events: [...(open?.events ?? []), event],
    isDone: true,
  }
  const final = toAgentResult({
    run: row.id,
    session,
    trace,
    startedAtMs: row.startedAtMs ?? row.createdAtMs,
    agent: { id: agent, provenance: { template: '', version: '' } },
    // One that a limit ends keeps what was said.
    ending: { state, ...(state === 'failed' && { result: '' }), ...error },
    turns: [...(open ? turns.slice(0, -1) : turns), turn],
    finishedAtMs: nowMs,
  })
  return { turn: { ...turn, final }, final }
}
