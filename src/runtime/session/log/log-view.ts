import { defined } from '#contracts/defined.ts'
import type { SessionEvent, ToldEvent } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { toEntry } from '../types/submission.ts'
import { toTurnSaid, type TurnSaid } from '#runtime/kernel/types/turn-said.ts'
import type { SessionStore } from '../storage/store.ts'
import type { LogRow, RunRow } from '../storage/stored-rows.ts'

const rowsAtOnce = 16
const bySeq = (one: { readonly seq: number }, other: { readonly seq: number }) =>
  one.seq - other.seq

/** The events of a turn with their texts: a stored event has its place, and its turn's row has the texts. */
export function fullEvents(turn: TurnRecord): ToldEvent[] {
  const said = toTurnSaid(turn)
  const calls = new Map(turn.calls.map((call) => [call.id, call]))
  return turn.events.map((event) => told(event, { turn, said, calls }))
}

interface Row {
  readonly turn: TurnRecord
  readonly said: TurnSaid
  readonly calls: ReadonlyMap<string, CallRecord>
}

function told(event: SessionEvent, { turn, said, calls }: Row): ToldEvent {
  switch (event.type) {
    case 'run_steered':
      return { ...event, data: { ...event.data, messages: turn.received ?? [] } }
    case 'message_finished':
      return { ...event, data: { ...event.data, text: said.text } }
    case 'run_finished': {
      const { detail: _inside, ...data } = event.data
      return { ...event, data: { ...data, result: turn.final ?? null } }
    }
    case 'tool_started': {
      const call = calls.get(event.data.call)
      return call ? { ...event, data: { ...event.data, input: call.input } } : event
    }
    case 'tool_finished': {
      const { outcome } = calls.get(event.data.call) ?? {}
      if (!outcome) return event
      const { data } = event
      return outcome.ok
        ? { ...event, data: { ...data, output: outcome.output } }
        : { ...event, data: { ...data, error: { ...outcome.error } } }
    }
    // Adds the number of the turn, so that readers need not parse the id of a call.
    case 'run_parked':
    case 'agent_result':
    case 'model_called':
    case 'model_failed':
      return { ...event, data: { ...event.data, turn: turn.turn } } as ToldEvent // each kind has it
    case 'agent_error':
    case 'tool_log': {
      const { detail: _inside, ...data } = event.data
      return { ...event, data } as ToldEvent // of the same kind
    }
    default:
      return event
  }
}

/** The first event of a run, made from the run's row: the same for all readers. */
export function runStarted({
  id,
  submission,
  startSeq,
  startedAtMs,
  persona,
}: RunRow): SessionEvent<'run_started'>[] {
  if (startSeq === undefined) return []
  const { agent, trace, principal, key, lineage, begunBy, chain } = submission
  return [
    {
      seq: startSeq,
      run: id,
      agent,
      trace,
      atMs: startedAtMs ?? 0,
      type: 'run_started',
      data: {
        principal,
        ...defined({ key }),
        ...toEntry(submission),
        ...defined({ persona }),
        depth: lineage?.depth ?? 0,
        ...(lineage && { parentCall: lineage.parentCall }),
        ...(begunBy && { begunBy: { ...begunBy } }),
        ...(chain && { cause: { event: chain.cause, depth: chain.depth } }),
      },
    },
  ]
}

/** Some events between two places of the log, in order; empty only if there are none. */
export function eventsPage(
  store: SessionStore,
  {
    after,
    upTo,
    order,
  }: { readonly after: number; readonly upTo: number; readonly order?: number },
): ToldEvent[] {
  for (let from = after; from < upTo;) {
    const page = store.logPage({ after: from, ...defined({ order }) })
    const [low, high] = [from, Math.min(page.upTo, upTo)]
    const events = page.rows
      .flatMap((row) => (row.kind === 'run' ? runStarted(row.run) : fullEvents(row.turn)))
      .filter(({ seq }) => seq > low && seq <= high)
    if (events.length > 0) return events.toSorted(bySeq)
    if (page.upTo <= from) throw new Error(`The log does not go on behind ${from}.`)
    from = page.upTo
  }
  return []
}

/** The stored events of a row, for the audit log: without texts, arguments and results. */
const bareEvents = (row: LogRow): readonly SessionEvent[] =>
  row.kind === 'run' ? runStarted(row.run) : row.turn.events

/** Everything after `seq` as it is stored, in pages of at most `limit` events, reading a few rows at a time. */
export function* pagesAfter(store: SessionStore, seq: number, limit: number) {
  const places = store.placesAfter(seq)
  /** A row may get later events before it is read; they belong between rows that `places` does not have. */
  const upTo = store.lastSeq()
  let waiting: SessionEvent[] = []
  for (let at = 0; at < places.length; at += rowsAtOnce) {
    const rows = store.rowsAt(places.slice(at, at + rowsAtOnce))
    const found = rows.flatMap(bareEvents).filter((event) => event.seq > seq && event.seq <= upTo)
    waiting = [...waiting, ...found].toSorted(bySeq)
    // Only events before the rows that are still to be read; a turn that went on later has more.
    const next = places[at + rowsAtOnce]?.firstSeq ?? Infinity
    const isReady = (event: SessionEvent | undefined) => event !== undefined && event.seq < next
    while (isReady(waiting[limit - 1]) || (next === Infinity && waiting.length > 0))
      yield waiting.splice(0, limit)
  }
}
