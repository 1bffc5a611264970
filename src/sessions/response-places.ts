import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import type { ResponsePlace, Submission } from '#contracts/session.ts'
import type { SessionStore } from './store.ts'

/** The turn with which the response that begins after `from` ends: it waited for the client there. `undefined` if it ends with the run. */
export function lastTurnOf(turns: readonly TurnRecord[], from: number): number | undefined {
  return turns.find(
    ({ turn, events }) => turn > from && events.some(({ type }) => type === 'run_parked'),
  )?.turn
}

/** The calls whose outputs are among these. */
export const answeredIn = (messages: Submission['messages']): ReadonlySet<string> =>
  new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : [])))

/** Throws `request_not_found`, or `request_invalid` if it asked the client's tools something that is not answered here. */
export function checkPlace(
  place: ResponsePlace,
  messages: Submission['messages'],
  store: SessionStore,
): void {
  const row = store.findRun(place.run)
  if (!row || row.isHidden || row.submission.isStateless)
    throw new IsolaError('request_not_found', 'There is no such response.')
  const turns = store.turns(row.order)
  const last = lastTurnOf(turns, place.turn)
  const answered = answeredIn(messages)
  const asked = clientCallsOf(turns.find(({ turn }) => turn === last))
  const missing = asked.find((call) => !answered.has(call))
  if (missing) throw unanswered(missing)
}

export const unanswered = (call: string) =>
  new IsolaError('request_invalid', `input: has no output for the function call ${call}.`, {
    param: 'input',
  })

function clientCallsOf(turn: TurnRecord | undefined): readonly string[] {
  const parked = (turn?.events ?? []).filter(({ type }) => type === 'run_parked')
  const pauses = parked.flatMap(({ data }) => data['pauses'] as unknown as { call: string }[])
  return [...new Set(pauses.map(({ call }) => call))]
}
