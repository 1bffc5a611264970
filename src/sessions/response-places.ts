import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import type { ClientAnswers, ResponsePlace, Submission, SubmitRequest } from '#contracts/session.ts'
import { decideCall, steerRun, type DecideOptions, type OutsideParts } from './outside.ts'
import { conflict, pausesOf } from './pauses.ts'
import type { RunRow, SessionStore } from './store.ts'

/** The turn with which the response that begins after `from` ends: it waited for the client there. `undefined` if it ends with the run. */
export function lastTurnOf(turns: readonly TurnRecord[], from: number): number | undefined {
  return turns.find(
    ({ turn, events }) => turn > from && events.some(({ type }) => type === 'run_parked'),
  )?.turn
}

/** Throws `request_not_found`, or `request_invalid` if it asked the client's tools something that is not answered here. */
export function checkPlace(
  place: ResponsePlace,
  messages: Submission['messages'],
  store: SessionStore,
): void {
  const row = store.findRun(place.run)
  if (!row || row.isHidden) throw new IsolaError('request_not_found', 'There is no such response.')
  const turns = store.turns(row.order)
  const last = lastTurnOf(turns, place.turn)
  const answered = new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : [])))
  const asked = clientCallsOf(turns.find(({ turn }) => turn === last))
  const missing = asked.find((call) => !answered.has(call))
  if (missing) throw unanswered(missing)
}

const unanswered = (call: string) =>
  new IsolaError('request_invalid', `input: has no output for the function call ${call}.`, {
    param: 'input',
  })

function clientCallsOf(turn: TurnRecord | undefined): readonly string[] {
  const parked = (turn?.events ?? []).filter(({ type }) => type === 'run_parked')
  const pauses = parked.flatMap(({ data }) => data['pauses'] as unknown as { call: string }[])
  return [...new Set(pauses.map(({ call }) => call))]
}

export interface AnswerOptions extends Omit<DecideOptions, 'call' | 'decision'> {
  readonly request: SubmitRequest
  readonly answers: ClientAnswers
}

/**
 * What the client's tools returned: the run goes on. All of it is taken, or nothing.
 *
 * @returns Whether it had been taken before. Throws `request_not_found`, `request_invalid` (an output is missing) or
 * `request_conflict` (it does not wait for them, or not any more).
 */
export function answerRun(
  { request, answers, ...options }: AnswerOptions,
  parts: OutsideParts,
): boolean {
  const { store, runs } = parts
  const { run, outputs } = answers
  const find = (): RunRow => {
    const row = store.findRun(run)
    if (row) return row
    throw new IsolaError('request_not_found', 'There is no such run in this session.')
  }
  const row = find()
  const turns = store.turns(row.order)
  const waiting = pausesOf(row, turns.at(-1)).filter(({ kind }) => kind === 'client_tool')
  const given = new Set(outputs.map(({ call }) => call))
  const isWaiting = waiting.some(({ call }) => given.has(call))
  const missing = waiting.find(({ call }) => !given.has(call))
  if (isWaiting && missing) throw unanswered(missing.call)
  if (isWaiting && outputs.some(({ call }) => !waiting.some((pause) => pause.call === call))) {
    throw conflict('The run does not wait for these outputs.')
  }
  const decide = () => {
    for (const { call, output } of outputs)
      decideCall(find(), { ...options, call, decision: { decision: 'result', output } }, parts)
  }
  if (!isWaiting) {
    decide() // throws unless each was said before
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
