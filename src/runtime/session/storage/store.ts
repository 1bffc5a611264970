import type { Floor } from '../types/floor.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { Usage } from '#contracts/lease.ts'
import { toChildrenText, type BegunChild } from './children.ts'
import {
  logPageAfter,
  type LogPageQuery,
  placesAfter,
  rowsAt,
  type LogPlace,
  join,
  type Row,
  spentOf,
} from './log-rows.ts'
import { createLogTable, isFoundById, createSessionRecord } from './log-table.ts'
import { removeSome, rewriteRows } from './rewrite-rows.ts'
import { orderIn } from './ids.ts'
import { createPendingOutcomes } from './run-index.ts'
import type { RunRow, SessionRow } from './stored-rows.ts'

/**
 * The session's SQLite: one table, made at the first write. Row (0, 0) is the session, (n, 0) the n-th run, (n, t) its
 * t-th turn, so that the primary key is also the order of the log. A few sessions need a second table, `run_index`, for
 * runs away from the log's end. Every method is synchronous, so that writes without an `await` between them are atomic.
 * A method reads the same amount in a long session as in a short one, unless its comment says that it gives a whole
 * list.
 */
export type SessionStore = ReturnType<typeof createSessionStore>

/** @param onDamaged Called once with a row that cannot be read. */
export function createSessionStore(
  storage: DurableObjectStorage,
  onDamaged: (order: number) => void = () => {},
) {
  const table = createLogTable<RunRow>(storage)
  const { read, atomically, write, end, index, newest, openRuns } = table
  const damaged = new Set<number>()
  let firstId: string | undefined
  /** Read once: each run asks. */
  let floor: { readonly now: Floor | undefined } | undefined
  table.onForget(() => {
    firstId = undefined
    floor = undefined
  })
  const record = createSessionRecord<SessionRow>(table)
  const pending = createPendingOutcomes(index)

  const note = (order: number) => {
    if (!damaged.has(order)) onDamaged(order)
    damaged.add(order)
  }
  const runsIn = (rows: readonly Row[]): RunRow[] =>
    join<RunRow>(rows, note).flatMap((row) => (row.kind === 'run' ? [row.run] : []))
  const turnsIn = (rows: readonly Row[]): TurnRecord[] =>
    join(rows, note).flatMap((row) => (row.kind === 'turn' ? [row.turn] : []))
  const runAt = (order: number): RunRow | undefined =>
    newest.run(order) ??
    runsIn(read('SELECT * FROM log WHERE run = ? AND turn = 0 ORDER BY part', order))[0]

  const lateAfter = (seq: number) => [...new Set(index.above('late', seq).map(({ run }) => run))]

  return {
    pending,
    /** Whether rows of a run cannot be read. Such rows are left out; the rest of the session still works. */
    isDamaged: (order: number) => damaged.has(order),
    /** The number of a run's last turn, readable or not; 0 if it has none. */
    lastTurn: (order: number) =>
      Number(read('SELECT max(turn) AS turn FROM log WHERE run = ?', order)[0]?.['turn'] ?? 0),
    /** Sum of `cursor.rowsWritten` since this object started. */
    rowsWritten: table.rowsWritten,
    session: record.session,
    /** Inserts or replaces. */
    writeSession: record.writeSession,
    /** The size of the whole database. */
    sizeBytes: () => storage.sql.databaseSize,
    /** From here on the session looks absent and takes nothing, in every later life of the object too. */
    close: record.close,
    /** Whether it was closed, and not dropped since. */
    isClosed: record.isClosed,
    /** Removes some rows of a session that was closed. @returns Whether any were left. */
    removeSome: () => removeSome(read),
    /** Deletes everything, with the session tree's storage, and takes no more writes. */
    drop: table.drop,
    /** All of `work`'s writes, or none. */
    together: atomically,
    /** Calls `forget` after writes were rolled back, since tables made by them are gone too. */
    onForget: table.onForget,
    /** Changes rows of the whole database, each change after the one before found something: all of it or nothing. */
    rewrite: (changes: readonly ((value: unknown) => unknown)[]) => {
      let changed = 0
      atomically(() => {
        for (const [at, change] of changes.entries())
          if (at === 0 || changed > 0) changed += rewriteRows(storage.sql, change)
      })
      if (changed > 0) table.forget()
      return changed
    },
    /** The highest place of a run, even if only part of the run was written. */
    lastOrder: end.lastOrder,
    hasBefore: end.hasBefore,
    /** Inserts a run at its own place. Later runs may have been written before it. */
    addRun: (run: RunRow) => {
      const { order, id } = run
      const { begunBy } = run.submission
      const isFound = isFoundById(id, order)
      if (isFound && !begunBy) return write({ ...keyOf(run), isNew: true }, run)
      atomically(() => {
        write({ ...keyOf(run), isNew: true }, run)
        if (!isFound) index.put('id', id, order)
        if (begunBy) pending.remove(begunBy.run, begunBy.call)
      })
    },
    /** Replaces a run. */
    writeRun: (run: RunRow) => write(keyOf(run), run),
    /** All runs in accept order, or the runs from one order to another, both included. */
    runs: (from: number = 1, to: number = Number.MAX_SAFE_INTEGER) => {
      const only = from === to ? newest.run(from) : undefined
      if (only) return [only]
      const query = 'SELECT * FROM log WHERE run BETWEEN ? AND ? AND turn = 0 ORDER BY run, part'
      return runsIn(read(query, from, to))
    },
    findRun: (id: string) => {
      const place = orderIn(id)
      const told = place > 0 && place <= end.lastOrder() ? runAt(place) : undefined
      if (told?.id === id) return told
      // The first run needs no entry: a sub-agent's session has no other. Its id stays what it is, so it is read once.
      if (end.lastOrder() > 0 && (firstId ??= runAt(1)?.id) === id) return runAt(1)
      const order = end.lastOrder() > 1 ? index.get('id', id) : undefined
      return order === undefined ? undefined : runAt(Number(order))
    },
    /** Runs without a final turn, in accept order: among the newest runs, and among the parked ones. */
    unfinishedRuns: () => {
      const last = read(lastRunsNotOver).map((row) => Number(row['run']))
      const orders = [...new Set([...openRuns(), ...last])]
      return orders.toSorted((one, other) => one - other).flatMap((order) => runAt(order) ?? [])
    },
    /** Marks a parked run, so that `unfinishedRuns` finds it however many runs come after it. */
    keepOpen: (order: number) => {
      if (openRuns().has(order)) return
      index.put('open', order, order)
      openRuns().add(order)
    },
    turns: (order: number) => {
      if (order > end.lastOrder()) return []
      const query = 'SELECT * FROM log WHERE run = ? AND turn > 0 ORDER BY turn, part'
      return newest.turns(order) ?? turnsIn(read(query, order))
    },
    final: (order: number) => {
      const query = `SELECT * FROM log WHERE run = ?1 AND is_final = 1 AND turn =
        (SELECT max(turn) FROM log WHERE run = ?1) ORDER BY part`
      return (newest.lastTurn(order) ?? turnsIn(read(query, order))).at(-1)?.final
    },
    /**
     * @param begun All children of the turn, if it begins some that are not noted yet; without them they stay as
     * they are.
     */
    writeTurn: (order: number, turn: TurnRecord, begun?: readonly BegunChild[]) => {
      const key = {
        run: order,
        turn: turn.turn,
        ...(begun && { id: toChildrenText(begun) }),
        firstSeq: turn.events[0]?.seq,
        lastSeq: turn.events.at(-1)?.seq,
        isFinal: turn.final !== undefined,
      }
      if (!turn.final || !openRuns().has(order)) return write(key, turn)
      atomically(() => {
        write(key, turn)
        index.remove('open', order)
      })
      openRuns().delete(order)
    },
    /** The usage of a run, without its texts; `undefined` if only the whole run shows it. */
    spentOf: (order: number) => spentOf(order, read),
    /**
     * The places of rows with an event after `seq`, ordered by their first event, to be read a few at a time. Does not
     * read older rows.
     */
    placesAfter: (seq: number) => placesAfter(seq, { read, lateAfter }),
    /** A stretch of the log, of a bounded size: everything behind `after` up to `upTo`, in the order of rows. */
    logPage: (query: LogPageQuery) => {
      const { rows, upTo } = logPageAfter(query, { read, lateAfter })
      return { rows: join<RunRow>(rows, note), upTo }
    },
    /** The rows at these places, as they are now and in this order. */
    rowsAt: (places: readonly LogPlace[]) => {
      const held = places.flatMap(({ run, turn }) => newest.row(run, turn) ?? [])
      return held.length === places.length ? held : join<RunRow>(rowsAt(places, read), note)
    },
    lastSeq: end.lastSeq,
    /** The usage of all finished runs; `undefined` if it has not been counted yet. */
    spent: () => {
      const text = index.get('spent', 'total')
      return text === undefined ? undefined : (JSON.parse(String(text)) as Usage)
    },
    /** The handoff in force, or the last one. */
    floor: () => {
      if (!record.session()?.hasFloor) return undefined
      if (!floor) {
        const text = index.get('floor', 'now')
        floor = { now: text === undefined ? undefined : (JSON.parse(String(text)) as Floor) }
      }
      return floor.now
    },
    writeFloor: (now: Floor) => {
      const session = record.session()
      if (session && !session.hasFloor) record.writeSession({ ...session, hasFloor: true })
      index.put('floor', 'now', JSON.stringify(now))
      floor = { now }
    },
    writeSpent: (spent: Usage) => index.put('spent', 'total', JSON.stringify(spent)),
  }
}

/** Runs at the end of the log that may be at work or in the queue; earlier runs are over, or kept open. */
const maxLastRuns = 18

/** The orders of these runs that are not over. */
const lastRunsNotOver = `WITH RECURSIVE back (run, steps) AS (
    SELECT max(run), 1 FROM log WHERE run > 0
    UNION ALL
    SELECT (SELECT max(run) FROM log WHERE run > 0 AND run < back.run), steps + 1
      FROM back WHERE run IS NOT NULL AND steps < ${maxLastRuns})
  SELECT run FROM back WHERE run IS NOT NULL AND
    (SELECT is_final FROM log AS ends WHERE ends.run = back.run
      ORDER BY turn DESC, part DESC LIMIT 1) = 0`

const keyOf = ({ order, id, startSeq }: RunRow) => {
  return { run: order, turn: 0, id, firstSeq: startSeq, lastSeq: startSeq }
}

/** The run before an order: the order of a declined run is empty, and a run that cannot be read is skipped. */
export function runBefore(store: SessionStore, order: number): RunRow | undefined {
  for (let place = order - 1; place > 0; place -= 1) {
    const [run] = store.runs(place, place)
    if (run) return run
  }
  return undefined
}

/** All runs in accept order, read one at a time: together they may be too much for the object's memory. */
export function* everyRun(store: SessionStore): Iterable<RunRow> {
  const last = store.lastOrder()
  for (let order = 1; order <= last; order += 1) yield* store.runs(order, order)
}

/** A run after the last one, without messages, that goes on from the whole conversation. */
export const runToCome = (store: SessionStore): RunRow => ({
  id: '',
  order: store.lastOrder() + 1,
  submission: { agent: '', principal: '', messages: [], trace: '' },
  bodyHash: '',
  createdAtMs: 0,
  wakeTurn: 0,
  wakes: 0,
})
