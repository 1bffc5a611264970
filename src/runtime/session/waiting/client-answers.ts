import type { SessionRuntime } from '../types/runtime.ts'
import type { ClientAnswers, SubmitRequest } from '../types/submission.ts'
import { decideCalls, steerRun, type OutsideParts } from './outside.ts'
import { conflict } from './pauses.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import { noSuchRun } from '../storage/refusals.ts'
import { unanswered } from '../responses/response-places.ts'
import type { RunRow } from '../storage/stored-rows.ts'

export interface AnswerRequest {
  readonly request: SubmitRequest
  readonly answers: ClientAnswers
}

/**
 * Gives a run the results of its client's tools, all or none, and lets it go on.
 *
 * @returns Whether the run had them before. Throws `request_not_found`, `request_invalid` (an output is missing) or
 * `request_conflict` (the run does not wait for them).
 */
export function answerRun(
  { request, answers }: AnswerRequest,
  { runtime, ...parts }: OutsideParts & { readonly runtime: SessionRuntime },
): boolean {
  const { store, runs } = parts
  const { run, outputs } = answers
  const find = (): RunRow => {
    const row = store.findRun(run)
    if (row && !row.isHidden) return row
    throw noSuchRun()
  }
  const row = find()
  const turns = store.turns(row.order)
  const waiting = pausesOf(row, turns.at(-1)).filter(({ kind }) => kind === 'client_tool')
  const given = new Set(outputs.map(({ call }) => call))
  const isWaiting = waiting.some(({ call }) => given.has(call))
  const missing = waiting.find(({ call }) => !given.has(call))
  if (isWaiting && missing) throw unanswered(run, missing.call)
  if (isWaiting && outputs.some(({ call }) => !waiting.some((pause) => pause.call === call))) {
    throw conflict('The run does not wait for these outputs.')
  }
  const decisions = outputs.map(({ call, output }) => {
    return { call, decision: { decision: 'result', output } } as const
  })
  const { clock, timing, sha256 } = runtime
  const now = { nowMs: clock.nowMs(), pauseMs: timing.pauseMs, sha256 }
  const decide = () => decideCalls(find(), { ...now, decisions }, parts)
  if (!isWaiting) {
    decide() // throws unless the run has each of them
    return true
  }
  for (const [index, message] of request.messages.entries()) {
    steerRun(find(), { id: `answers:${outputs[0]!.call}:${index}`, message }, parts)
  }
  const turn = String(turns.at(-1)!.turn)
  if (request.echo) runs.change(find(), { echoes: { ...row.echoes, [turn]: request.echo } })
  decide()
  return false
}
