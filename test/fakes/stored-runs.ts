import type { AgentResult } from '#contracts/agent.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { zeroUsage, type Limits } from '#contracts/lease.ts'
import { onlyLimited } from '#runtime/session/types/platform-usage.ts'
import { runIdAt } from '../../src/runtime/session/storage/ids.ts'
import type { RunRow } from '../../src/runtime/session/storage/stored-rows.ts'

/** A run that was accepted at this place, as the store keeps it. Each takes three places in the log. */
export const runAt = (order: number, more: Partial<RunRow> = {}): RunRow => ({
  id: runIdAt(order, `run_${'0'.repeat(22)}`),
  order,
  submission: { agent: 'tester', principal: 'operator', messages: [], trace: 't'.repeat(32) },
  bodyHash: '',
  createdAtMs: order,
  startSeq: 3 * order - 2,
  startedAtMs: order,
  wakeTurn: 0,
  wakes: 0,
  ...more,
})

/** The only turn of that run, which spent ten tokens. */
export function turnOf(order: number, more: Partial<TurnRecord> = {}): TurnRecord {
  const { id, submission } = runAt(order)
  const { agent, trace } = submission
  const usage = { ...zeroUsage, tokens: 10, turns: 1 }
  const stamp = { run: id, agent, trace, atMs: order }
  const final: AgentResult = {
    id,
    success: true,
    state: 'completed',
    result: 'done',
    startedAtMs: order,
    finishedAtMs: order,
    sessionId: 'ses_1',
    agent,
    trace,
    steps: 1,
    actions: [],
    modelCalls: [],
    usage,
    costEstimateUsd: 0,
    provenance: { template: '', version: '', models: [] },
  }
  return {
    turn: 1,
    steps: [{ type: 'finish', message: 'done' }],
    calls: [],
    modelCalls: [],
    usage,
    events: [
      { ...stamp, seq: 3 * order - 1, type: 'message_finished', data: { turn: 1 } },
      { ...stamp, seq: 3 * order, type: 'run_finished', data: { state: 'completed', turns: 1 } },
    ],
    isDone: true,
    final,
    ...more,
  }
}

export const limitsOf = (limits: Partial<Limits> = {}): Limits => onlyLimited(limits)
