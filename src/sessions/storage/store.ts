import type { AgentResult } from '#contracts/agent.ts'
import type { Decider } from '#contracts/approval.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { PauseAnswer } from '#contracts/pause.ts'
import type { Lineage } from '#contracts/lineage.ts'
import type { RunMemo } from '#contracts/run-view.ts'
import type { Submission } from '#contracts/submission.ts'
import type { BegunWith } from './begun-with.ts'
import { toChildrenText, type BegunChild } from './children.ts'
import { toStoredTurn } from './event-version.ts'
import { placesAfter, rowsAt, type LogPlace } from './log-after.ts'
import { logPageAfter, type LogPageQuery } from './log-page.ts'
import { join, type Row } from './log-rows.ts'
import { createLogTable, isFoundById } from './log-table.ts'
import { lastRunsNotOver } from './last-runs.ts'
import { createPendingOutcomes, type PendingOutcomes } from './pending-outcomes.ts'
import { removeSome } from './removal.ts'
import { orderIn } from './run-id.ts'
import { createSessionRecord } from './session-record.ts'
import { spentOf, type RunSpent } from './spent-of.ts'

export interface Addition {
  /** The place of the run behind which it stands. */
  readonly behind: number
  readonly messages: readonly Message[]
}

/** What identifies a session; its first row. */
export interface SessionRow {
  readonly id: string
  /** Absent until the first run says which, where a conversation was made before it. */
  readonly agent?: string
  readonly principal: string
  readonly createdAtMs: number
  /** What was said before its first run. */
  readonly preamble?: readonly Message[]
  /** What its client said between two runs, in the order in which it came. */
  readonly additions?: readonly Addition[]
  readonly metadata?: JsonObject
  /** Nobody named it. */
  readonly isStateless?: boolean
  /** It is kept for so long from its beginning, whatever its kind. */
  readonly keepMs?: number
  readonly lineage?: Lineage
  /** It was deleted, and its rows are being removed: it looks absent. */
  readonly isDeleted?: true
  /** Every child of it is noted in the row of its turn; absent if older ones are in its events only. */
  readonly hasChildrenInTurns?: true
  /** What all its runs together may spend. */
  readonly limits?: Partial<Limits>
  /** As it was made with: the same key names a session with the same one. */
  readonly persona?: string
  /** What it was changed to since; `null`: none. */
  readonly personaSince?: string | null
}

/** Something that came in for a run after it was accepted. */
export interface InboxItem {
  /** The same id twice is one item. */
  readonly id: string
  readonly message: Message
  /** Set if it is what came of this run's own call, started in the background, and what that spent. */
  readonly call?: string
  readonly usage?: Usage
  /** It begins a run, whose message it is; absent again if that run was refused. */
  readonly begins?: true
}

/** Limits that take the place of what agent, request and session allow a run. */
export interface ChangedLimits {
  readonly limits: Partial<Limits>
  /** How often they were changed. */
  readonly count: number
  /** What an operator has allowed: also what the day does not have. */
  readonly byOperator?: Partial<Limits>
}

/** A run as it was accepted. Its turns and its end are rows of their own. */
export interface RunRow extends BegunWith {
  readonly id: string
  /** Accept order within the session, from 1. */
  readonly order: number
  readonly submission: Submission
  readonly bodyHash: string
  readonly createdAtMs: number
  /** Place of `run_started` in the log; absent while queued. */
  readonly startSeq?: number
  readonly startedAtMs?: number
  readonly cancelReason?: string
  readonly inbox?: readonly InboxItem[]
  /** What calls that waited when the run ended took after all, by call id: they were booked with all they held. */
  readonly settledLate?: Readonly<Record<string, Usage>>
  /** What was decided about its waiting calls, by call id. */
  readonly answers?: Readonly<Record<string, PauseAnswer>>
  /** What somebody outside said about a call, as a hash: the same again is no news, whatever has become of the run. */
  readonly decided?: Readonly<Record<string, string>>
  /** Who decided about a call that waited for a yes, and when, by call id. */
  readonly deciders?: Readonly<Record<string, Decider & { readonly atMs: number }>>
  /** What somebody has made of its limits since it was accepted. */
  readonly changed?: ChangedLimits
  /** What its agent may spend less by now than when it was begun, as far as it has met that. */
  readonly lowered?: Partial<Limits>
  /** `echo` of the requests with which its client answered, by the turn that waited for them. */
  readonly echoes?: RunMemo['echoes']
  readonly isHidden?: boolean
  /** The turn that was open at the last wake, and how often a wake found it open. */
  readonly wakeTurn: number
  readonly wakes: number
}

/** One row of the log: a run that started, or a turn of it. */
export type LogRow =
  | { readonly kind: 'run'; readonly run: RunRow }
  | { readonly kind: 'turn'; readonly turn: TurnRecord }

/**
 * The session's SQLite: one table, not made before there is something to keep. Row (0, 0) is the session, (n, 0)
 * the n-th run, (n, t) its t-th turn, so that the primary key is also the order of the log. Few sessions need another
 * one, `run_index`, for what does not stand where the log ends. Every method is synchronous, so that what is written in
 * one go lands in one go; those that are not said to give a whole list read as much of a long session as of a short one.
 */
export interface SessionStore {
  readonly session: () => SessionRow | undefined
  /** Inserts or replaces. */
  readonly writeSession: (row: SessionRow) => void
  /** Inserts a run. Its place is its own; runs behind it may have been written before it. */
  readonly addRun: (run: RunRow) => void
  /** Replaces a run. */
  readonly writeRun: (run: RunRow) => void
  /** In accept order; all of them, or those from one order to another, both included. */
  readonly runs: (from?: number, to?: number) => readonly RunRow[]
  readonly findRun: (id: string) => RunRow | undefined
  /** The runs of which something is in the database that cannot be read: it is left out, and nothing else suffers. */
  readonly isDamaged: (order: number) => boolean
  /** The number of a run's last turn, readable or not; 0 if it has none. */
  readonly lastTurn: (order: number) => number
  /** Runs without a final turn, in accept order: of the last that were accepted, and of those that were parked. */
  readonly unfinishedRuns: () => readonly RunRow[]
  /** The run is not over and will not be soon: it is remembered however many come after it. */
  readonly keepOpen: (order: number) => void
  readonly pending: PendingOutcomes
  readonly turns: (order: number) => readonly TurnRecord[]
  /** @param begun All children of the turn, if it begins some that are not noted yet; without them they stay as they are. */
  readonly writeTurn: (order: number, turn: TurnRecord, begun?: readonly BegunChild[]) => void
  readonly final: (order: number) => AgentResult | undefined
  /** What a run has spent, without its texts; `undefined` where that takes the run as a whole. */
  readonly spentOf: (order: number) => RunSpent | undefined
  /** Where the rows with an event after `seq` are, by their first event, to be read a few at a time; reads no older ones. */
  readonly placesAfter: (seq: number) => readonly LogPlace[]
  /** The rows at these places, as they are now and in this order. */
  readonly rowsAt: (places: readonly LogPlace[]) => readonly LogRow[]
  /** A stretch of the log, of a bounded size: everything behind `after` up to `upTo`, in the order of rows. */
  readonly logPage: (query: LogPageQuery) => {
    readonly rows: readonly LogRow[]
    readonly upTo: number
  }
  readonly lastSeq: () => number
  /** The highest place of a run, whatever of it was written. */
  readonly lastOrder: () => number
  readonly hasBefore: (order: number) => boolean
  /** What the runs that are over have spent; `undefined` if nobody has counted yet. */
  readonly spent: () => Usage | undefined
  readonly writeSpent: (spent: Usage) => void
  /** All of `work`'s writes, or none. */
  readonly together: (work: () => void) => void
  /** Has this done whenever writes were taken back: tables that they made are gone too. */
  readonly onForget: (forget: () => void) => void
  /** Of the whole database. */
  readonly sizeBytes: () => number
  /** From here on the session looks absent and takes nothing, in every later life of the object too. */
  readonly close: () => void
  /** Whether it was closed, and not dropped since. */
  readonly isClosed: () => boolean
  /** Removes some rows of a session that was closed. @returns Whether any were left. */
  readonly removeSome: () => boolean
  /** Forgets everything, the tree's storage included, and takes nothing any more. */
  readonly drop: () => void
  /** Sum of `cursor.rowsWritten` since this object started. */
  readonly rowsWritten: () => number
}

/** @param onDamaged Told of a row that cannot be read, once. */
export function createSessionStore(
  storage: DurableObjectStorage,
  onDamaged: (order: number) => void = () => {},
): SessionStore {
  const table = createLogTable<RunRow>(storage)
  const { read, atomically, write, end, index, newest, openRuns } = table
  const damaged = new Set<number>()
  let firstId: string | undefined
  table.onForget(() => (firstId = undefined))
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
    isDamaged: (order) => damaged.has(order),
    lastTurn: (order) =>
      Number(read('SELECT max(turn) AS turn FROM log WHERE run = ?', order)[0]?.['turn'] ?? 0),
    rowsWritten: table.rowsWritten,
    session: record.session,
    writeSession: record.writeSession,
    sizeBytes: () => storage.sql.databaseSize,
    close: record.close,
    isClosed: record.isClosed,
    removeSome: () => removeSome(read),
    drop: table.drop,
    together: atomically,
    onForget: table.onForget,
    lastOrder: end.lastOrder,
    hasBefore: end.hasBefore,
    addRun(run) {
      const { order, id } = run
      const { begunBy } = run.submission
      table.prepare()
      const isFound = isFoundById(id, order)
      if (isFound && !begunBy) return write({ ...keyOf(run), isNew: true }, run)
      atomically(() => {
        write({ ...keyOf(run), isNew: true }, run)
        if (!isFound) index.put('id', id, order)
        if (begunBy) pending.remove(begunBy.run, begunBy.call)
      })
    },
    writeRun: (run) => write(keyOf(run), run),
    runs(from = 1, to = Number.MAX_SAFE_INTEGER) {
      const only = from === to ? newest.run(from) : undefined
      if (only) return [only]
      const query = 'SELECT * FROM log WHERE run BETWEEN ? AND ? AND turn = 0 ORDER BY run, part'
      return runsIn(read(query, from, to))
    },
    findRun(id) {
      table.prepare()
      const place = orderIn(id)
      const told = place > 0 && place <= end.lastOrder() ? runAt(place) : undefined
      if (told?.id === id) return told
      // The first run needs no entry: a sub-agent's session has no other. Its id stays what it is, so it is read once.
      if (end.lastOrder() > 0 && (firstId ??= runAt(1)?.id) === id) return runAt(1)
      const order = end.lastOrder() > 1 ? index.get('id', id) : undefined
      return order === undefined ? undefined : runAt(Number(order))
    },
    unfinishedRuns() {
      table.prepare()
      const last = read(lastRunsNotOver).map((row) => Number(row['run']))
      const orders = [...new Set([...openRuns(), ...last])]
      return orders.toSorted((one, other) => one - other).flatMap((order) => runAt(order) ?? [])
    },
    keepOpen(order) {
      if (openRuns().has(order)) return
      index.put('open', order, order)
      openRuns().add(order)
    },
    turns(order) {
      if (order > end.lastOrder()) return []
      const query = 'SELECT * FROM log WHERE run = ? AND turn > 0 ORDER BY turn, part'
      return newest.turns(order) ?? turnsIn(read(query, order))
    },
    final(order) {
      const query = `SELECT * FROM log WHERE run = ?1 AND is_final = 1 AND turn =
        (SELECT max(turn) FROM log WHERE run = ?1) ORDER BY part`
      return (newest.lastTurn(order) ?? turnsIn(read(query, order))).at(-1)?.final
    },
    writeTurn(order, turn, begun) {
      const key = {
        run: order,
        turn: turn.turn,
        ...(begun && { id: toChildrenText(begun) }),
        firstSeq: turn.events[0]?.seq,
        lastSeq: turn.events.at(-1)?.seq,
        isFinal: turn.final !== undefined,
      }
      if (!turn.final || !openRuns().has(order)) return write(key, toStoredTurn(turn))
      atomically(() => {
        write(key, toStoredTurn(turn))
        index.remove('open', order)
      })
      openRuns().delete(order)
    },
    spentOf: (order) => spentOf(order, read),
    placesAfter(seq) {
      table.prepare()
      return placesAfter(seq, { read, index })
    },
    logPage(query) {
      table.prepare()
      const { rows, upTo } = logPageAfter(query, { read, lateAfter })
      return { rows: join(rows, note), upTo }
    },
    rowsAt(places) {
      const held = places.flatMap(({ run, turn }) => newest.row(run, turn) ?? [])
      return held.length === places.length ? held : join(rowsAt(places, read), note)
    },
    lastSeq() {
      table.prepare()
      return end.lastSeq()
    },
    spent() {
      const text = index.get('spent', 'total')
      return text === undefined ? undefined : (JSON.parse(String(text)) as Usage)
    },
    writeSpent: (spent) => index.put('spent', 'total', JSON.stringify(spent)),
  }
}

const keyOf = ({ order, id, startSeq }: RunRow) => {
  return { run: order, turn: 0, id, firstSeq: startSeq, lastSeq: startSeq }
}
