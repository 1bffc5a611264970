import type { SessionEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ResponsePlace, Submission } from '../types/submission.ts'
import { pausesOf, type RunRow } from '../storage/stored-rows.ts'
import type { SessionStore } from '../storage/store.ts'

/** The calls of a turn that its client runs, in the order of the agent. */
export function clientCallsOf({ calls, events }: TurnRecord): readonly CallRecord[] {
  const asked = new Set(events.flatMap(askedOfClient))
  return calls.filter(({ id }) => asked.has(id))
}

/** The calls for which the run was parked, so that the client got them. */
const askedOfClient = (event: SessionEvent): readonly string[] =>
  event.type === 'run_parked'
    ? event.data.pauses.flatMap(({ call, kind }) => (kind === 'client_tool' ? [call] : []))
    : []

/**
 * The turn that ends the response which begins after `from`: the run waited for the client there. `undefined` if the
 * response ends with the run.
 */
export function lastTurnOf(turns: readonly TurnRecord[], from: number): number | undefined {
  return turns.find(
    ({ turn, events }) => turn > from && events.some(({ type }) => type === 'run_parked'),
  )?.turn
}

/** The calls that these messages answer. */
export const answeredIn = (messages: Submission['messages']): ReadonlySet<string> =>
  new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : [])))

/**
 * The run of a response from which another run may go on. Throws `request_not_found`, also for a response that is
 * not stored.
 */
export function namedRun({ run, turn }: ResponsePlace, store: SessionStore): RunRow {
  const row = store.findRun(run)
  const echo = turn === 0 ? row?.submission.echo : row?.echoes?.[String(turn)]
  if (!row || row.isHidden || row.submission.isStateless || echo?.['store'] === false)
    throw new IsolaError('request_not_found', 'There is no such response.')
  return row
}

/** Throws `request_not_found`, or `request_invalid` if the messages leave a call of the client's tools unanswered. */
export function checkPlace(
  place: ResponsePlace,
  messages: Submission['messages'],
  store: SessionStore,
): void {
  const row = namedRun(place, store)
  const turns = store.turns(row.order)
  const last = lastTurnOf(turns, place.turn)
  const answered = answeredIn(messages)
  const waited = turns.find(({ turn }) => turn === last)
  const asked = waited ? clientCallsOf(waited) : []
  const missing = asked.find(({ id }) => !answered.has(id))
  if (missing) throw unanswered(row.id, missing.id)
}

/**
 * Throws `request_invalid` if the session's last run waits for its client's tools, and the same client goes on without
 * their outputs: the model would not know the results of the calls. A client of `/api` may start another run.
 */
export function checkNothingAsked(next: Submission, store: SessionStore): void {
  const order = store.lastOrder()
  const [row] = next.after || order === 0 ? [] : store.runs(order, order)
  if (!row || store.final(order)) return
  const isClients = next.pauses === 'client_tools' && row.submission.pauses === 'client_tools'
  const waiting = pausesOf(row, store.turns(order).at(-1))
  const asked = waiting.find(({ kind }) => kind === 'client_tool')
  if (isClients && asked) throw unanswered(row.id, asked.call)
}

/** The surface replaces the call's id by the id that the client knows. */
export const unanswered = (run: string, call: string) =>
  new IsolaError('request_invalid', 'input: has no output for a function call of the response.', {
    param: 'input',
    call: { run, call },
  })
