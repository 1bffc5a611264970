import type { AgentResult } from '#contracts/agent.ts'
import type { TurnRecord } from '#contracts/journal.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Limits, Usage } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { PauseAnswer } from '#contracts/pause.ts'
import type { Lineage, RunMemo, Submission } from '#contracts/session.ts'
import { fromStoredTurn, toStoredTurn } from './event-version.ts'
import { logPageAfter, type LogPageQuery } from './log-page.ts'
import { createNewestRun } from './newest-run.ts'

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
  readonly lineage?: Lineage
  /** It was deleted, and its rows are being removed: it looks absent. */
  readonly isDeleted?: true
  /** Every child of it is in the table of children; absent if older ones are in its events only. */
  readonly hasChildrenNoted?: true
  /** What all its runs together may spend. */
  readonly limits?: Partial<Limits>
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

/** A run as it was accepted. Its turns and its end are rows of their own. */
export interface RunRow {
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

/** Where a row of the log is, and which events it has. */
export interface LogPlace {
  readonly run: number
  readonly turn: number
  readonly firstSeq: number
}

/** A value over 2 MB does not fit a row: longer turns are split. A unit of UTF-16 takes up to three bytes there. */
const maxPartChars = 600_000
const pageRows = 64
/** Rows that go in one step; a row has up to 2 MB. */
const removedAtOnce = 32

/**
 * The session's SQLite: one table, not made before there is something to keep. Row (0, 0) is the session, (n, 0)
 * the n-th run, (n, t) its t-th turn, so that the primary key is also the order of the log. Every method is
 * synchronous, so that what is written in one go lands in one go.
 */
export interface SessionStore {
  readonly session: () => SessionRow | undefined
  /** Inserts or replaces. */
  readonly writeSession: (row: SessionRow) => void
  /** Inserts or replaces. */
  readonly writeRun: (run: RunRow) => void
  /** In accept order; all of them, or those from one order to another, both included. */
  readonly runs: (from?: number, to?: number) => readonly RunRow[]
  readonly findRun: (id: string) => RunRow | undefined
  /** The runs of which something is in the database that cannot be read: it is left out, and nothing else suffers. */
  readonly isDamaged: (order: number) => boolean
  /** The number of a run's last turn, readable or not; 0 if it has none. */
  readonly lastTurn: (order: number) => number
  /** Runs without a final turn, in accept order. */
  readonly unfinishedRuns: () => readonly RunRow[]
  readonly turns: (order: number) => readonly TurnRecord[]
  readonly writeTurn: (order: number, turn: TurnRecord) => void
  readonly final: (order: number) => AgentResult | undefined
  /** Every row with an event after `seq`, in order; reads no older ones. */
  readonly logAfter: (seq: number) => readonly LogRow[]
  /** Where those rows are, by their first event, to be read a few at a time. */
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
  /** All of `work`'s writes, or none. */
  readonly together: (work: () => void) => void
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

/** What may be too much to go in one step, with its key; the session's own row stays to the end. */
const removable = [
  ['items', 'space, key', 'true'],
  ['log', 'run, turn, part', 'run > 0'],
] as const

interface Key {
  readonly run: number
  readonly turn: number
  readonly id?: string
  readonly firstSeq?: number | undefined
  readonly lastSeq?: number | undefined
  readonly isFinal?: boolean
}

/** @param onDamaged Told of a row that cannot be read, once. */
export function createSessionStore(
  storage: DurableObjectStorage,
  onDamaged: (order: number) => void = () => {},
): SessionStore {
  const { sql } = storage
  const damaged = new Set<number>()
  let index: LogIndex | undefined
  let rows = 0
  let isReady: boolean | undefined
  let isClosed = false
  let isClosing = false
  let known: SessionRow | undefined
  const newest = createNewestRun<RunRow>()

  const exec = (query: string, ...values: SqlStorageValue[]): Row[] => {
    const cursor = sql.exec(query, ...values)
    const found = cursor.toArray()
    rows += cursor.rowsWritten
    return found
  }
  const exists = (): boolean =>
    (isReady ??= exec(`SELECT 1 FROM sqlite_master WHERE name = 'log'`).length > 0)
  const read = (query: string, ...values: SqlStorageValue[]) =>
    exists() ? exec(query, ...values) : []
  const readSession = (): SessionRow | undefined => {
    const parts = read('SELECT body FROM log WHERE run = 0 ORDER BY part')
    const text = parts.map(({ body }) => String(body)).join('')
    const session = text === '' ? undefined : (JSON.parse(text) as SessionRow)
    isClosing = session?.isDeleted === true
    return isClosing ? undefined : session
  }

  const write = (key: Key, value: unknown) => {
    if (isClosed || isClosing) throw new IsolaError('request_not_found', 'The session was deleted.')
    const text = JSON.stringify(value)
    const parts = toParts(text)
    const isNew = key.run > 0 && key.turn === 0 && index?.orders.has(key.id!) === false
    const put = () => {
      // What a row holds may get shorter; nothing of its longer form may stay behind.
      if (!isNew) {
        const rest = 'DELETE FROM log WHERE run = ? AND turn = ? AND part >= ?'
        exec(rest, key.run, key.turn, parts.length)
      }
      for (const [part, text] of parts.entries()) {
        exec(
          'INSERT OR REPLACE INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
          key.run,
          key.turn,
          part,
          key.id ?? null,
          key.firstSeq ?? null,
          key.lastSeq ?? null,
          key.isFinal ? 1 : 0,
          text,
        )
      }
    }
    if (isNew && parts.length === 1) put()
    else storage.transactionSync(put)
    if (key.lastSeq !== undefined) index?.note(key.run, key.lastSeq)
    if (key.run > 0) newest.wrote(key.run, key.turn, text, isNew)
  }

  /** Puts the parts of each row together again. */
  const join = (rows: readonly Row[]): LogRow[] => {
    const bodies = new Map<string, { run: number; turn: number; text: string }>()
    for (const row of rows) {
      const key = `${row['run']}:${row['turn']}`
      const before = bodies.get(key)?.text ?? ''
      const [run, turn] = [Number(row['run']), Number(row['turn'])]
      bodies.set(key, { run, turn, text: before + String(row['body']) })
    }
    return [...bodies.values()].flatMap(({ run, turn, text }): LogRow[] => {
      const value = parse(text)
      if (value !== undefined && (turn === 0 ? isRun(value) : isTurn(value))) {
        return turn === 0
          ? [{ kind: 'run', run: value as RunRow }]
          : [{ kind: 'turn', turn: fromStoredTurn(value as TurnRecord) }]
      }
      if (!damaged.has(run)) onDamaged(run)
      damaged.add(run)
      return []
    })
  }
  const runsIn = (rows: readonly Row[]): RunRow[] =>
    join(rows).flatMap((row) => (row.kind === 'run' ? [row.run] : []))
  const turnsIn = (rows: readonly Row[]): TurnRecord[] =>
    join(rows).flatMap((row) => (row.kind === 'turn' ? [row.turn] : []))
  /** Read once: a session with many runs is not searched for each request. */
  const indexed = (): LogIndex => {
    if (index) return index
    const query =
      'SELECT run, turn, id, first_seq, last_seq FROM log WHERE run > 0 AND part = 0 ORDER BY run DESC'
    return (index = createLogIndex(read(query)))
  }
  /** Newest first, and no further back than needed: a long session is not read for its last turn. */
  const rowsAfter = (seq: number, columns: string): Row[] => {
    const found: Row[] = []
    let from: readonly SqlStorageValue[] = [Number.MAX_SAFE_INTEGER, 0, 0]
    for (;;) {
      const page = read(
        `SELECT ${columns} FROM log WHERE run > 0 AND (run, turn, part) < (?, ?, ?)
          ORDER BY run DESC, turn DESC, part DESC LIMIT ${pageRows}`,
        ...from,
      )
      for (const row of page) {
        if (row['last_seq'] === null) continue
        if (Number(row['last_seq']) > seq) found.push(row)
        else if (Number(row['run']) < indexed().lateFrom()) return found.reverse()
      }
      const last = page.at(-1)
      if (!last || page.length < pageRows) return found.reverse()
      from = [last['run']!, last['turn']!, last['part']!]
    }
  }

  const lateAfter = (seq: number): readonly number[] => {
    if (indexed().lateFrom() === Number.MAX_SAFE_INTEGER) return []
    const query = `SELECT run FROM
      (SELECT run, max(last_seq) AS last, min(min(first_seq)) OVER
        (ORDER BY run ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS above
        FROM log WHERE run > 0 GROUP BY run) WHERE last > above AND last > ?`
    return read(query, seq).map((row) => Number(row['run']))
  }

  return {
    isDamaged: (order) => damaged.has(order),
    lastTurn(order) {
      const [row] = read('SELECT max(turn) AS turn FROM log WHERE run = ?', order)
      return Number(row?.['turn'] ?? 0)
    },
    rowsWritten: () => rows,
    session: () => (known ??= readSession()),
    writeSession(session) {
      exec(`CREATE TABLE IF NOT EXISTS log (
        run INTEGER, turn INTEGER, part INTEGER, id TEXT, first_seq INTEGER, last_seq INTEGER,
        is_final INTEGER, body TEXT, PRIMARY KEY (run, turn, part)) WITHOUT ROWID`)
      isReady = undefined
      write({ run: 0, turn: 0, id: session.id }, session)
      known = session
    },
    sizeBytes: () => sql.databaseSize,
    close() {
      const session = known ?? readSession()
      if (session) write({ run: 0, turn: 0, id: session.id }, { ...session, isDeleted: true })
      isClosed = true
      isClosing = true
      known = undefined
      index = undefined
      newest.forget()
    },
    isClosed() {
      if (!known && !isClosed) known = readSession()
      return isClosing
    },
    removeSome() {
      for (const [table, key, kept] of removable) {
        const isThere = exec('SELECT 1 FROM sqlite_master WHERE name = ?', table).length > 0
        if (!isThere) continue
        if (exec(`SELECT 1 FROM ${table} WHERE ${kept} LIMIT 1`).length === 0) continue
        exec(`DELETE FROM ${table} WHERE (${key}) IN
          (SELECT ${key} FROM ${table} WHERE ${kept} ORDER BY ${key} LIMIT ${removedAtOnce})`)
        return true
      }
      return false
    },
    drop() {
      storage.transactionSync(() => {
        for (const table of ['log', 'items']) exec(`DROP TABLE IF EXISTS ${table}`)
      })
      isReady = false
      isClosed = true
      isClosing = false
      known = undefined
      index = undefined
      newest.forget()
    },
    together(work) {
      try {
        storage.transactionSync(work)
      } catch (error) {
        // What this object remembers of the writes that were taken back is read again.
        index = undefined
        isReady = undefined
        known = undefined
        newest.forget()
        throw error
      }
    },
    lastOrder() {
      const [row] = read('SELECT max(run) AS run FROM log')
      return Number(row?.['run'] ?? 0)
    },
    writeRun(run) {
      const { order, id, startSeq } = run
      write({ run: order, turn: 0, id, firstSeq: startSeq, lastSeq: startSeq }, run)
      index?.orders.set(id, order)
    },
    runs(from = 1, to = Number.MAX_SAFE_INTEGER) {
      const only = from === to ? newest.run(from) : undefined
      if (only) return [only]
      const query = 'SELECT * FROM log WHERE run BETWEEN ? AND ? AND turn = 0 ORDER BY run, part'
      return runsIn(read(query, from, to))
    },
    findRun(id) {
      const order = indexed().orders.get(id)
      if (order === undefined) return undefined
      const held = newest.run(order)
      if (held) return held
      return runsIn(read('SELECT * FROM log WHERE run = ? AND turn = 0 ORDER BY part', order))[0]
    },
    unfinishedRuns: () =>
      runsIn(
        read(`SELECT * FROM log WHERE run > 0 AND turn = 0 AND NOT EXISTS
          (SELECT 1 FROM log AS ends WHERE ends.run = log.run AND ends.is_final = 1)
          ORDER BY run, part`),
      ),
    turns: (order) =>
      newest.turns(order) ??
      turnsIn(read('SELECT * FROM log WHERE run = ? AND turn > 0 ORDER BY turn, part', order)),
    final(order) {
      const query = 'SELECT * FROM log WHERE run = ? AND is_final = 1 ORDER BY turn, part'
      return (newest.lastTurn(order) ?? turnsIn(read(query, order))).at(-1)?.final
    },
    writeTurn(order, turn) {
      const key = {
        run: order,
        turn: turn.turn,
        firstSeq: turn.events[0]?.seq,
        lastSeq: turn.events.at(-1)?.seq,
        isFinal: turn.final !== undefined,
      }
      write(key, toStoredTurn(turn))
    },
    logAfter: (seq) => join(rowsAfter(seq, '*')),
    placesAfter: (seq) =>
      rowsAfter(seq, 'run, turn, part, first_seq, last_seq')
        .filter((row) => row['part'] === 0)
        .map((row) => ({
          run: Number(row['run']),
          turn: Number(row['turn']),
          firstSeq: Number(row['first_seq']),
        }))
        .toSorted((one, other) => one.firstSeq - other.firstSeq),
    rowsAt(places) {
      const keys = JSON.stringify(places.map(({ run, turn }) => [run, turn]))
      return join(
        read(
          `SELECT log.* FROM json_each(?) AS place CROSS JOIN log
            ON log.run = place.value->>0 AND log.turn = place.value->>1 ORDER BY place.key, part`,
          keys,
        ),
      )
    },
    logPage(query) {
      const { rows: found, upTo } = logPageAfter(query, { read, lateAfter })
      return { rows: join(found), upTo }
    },
    lastSeq: () => indexed().lastSeq(),
  }
}

type Row = Record<string, SqlStorageValue>

/** Where the runs of a session are in its log. */
interface LogIndex {
  /** By run id. */
  readonly orders: Map<string, number>
  readonly note: (run: number, lastSeq: number) => void
  readonly lastSeq: () => number
  /** The first run that went on after a later one had begun, as a parked one does: before it the log is in the order of runs. */
  readonly lateFrom: () => number
}

/** @param rows One for each turn, the last run first. */
function createLogIndex(rows: readonly Row[]): LogIndex {
  const orders = new Map<string, number>()
  let lastSeq = 0
  let highest = 0
  let late = Number.MAX_SAFE_INTEGER
  /** The first place of what is above the run that is read, that run included from its end on. */
  let above = Number.MAX_SAFE_INTEGER
  let first = { run: 0, seq: above }
  for (const row of rows) {
    const run = Number(row['run'])
    if (row['turn'] === 0) orders.set(String(row['id']), run)
    if (row['last_seq'] === null) continue
    if (run !== first.run) {
      above = Math.min(above, first.seq)
      first = { run, seq: Number.MAX_SAFE_INTEGER }
    }
    first.seq = Math.min(first.seq, Number(row['first_seq']))
    const last = Number(row['last_seq'])
    if (last > above) late = run
    highest = Math.max(highest, run)
    lastSeq = Math.max(lastSeq, last)
  }
  return {
    orders,
    lastSeq: () => lastSeq,
    lateFrom: () => late,
    note(run, last) {
      if (last <= lastSeq) return
      lastSeq = last
      if (run < highest) late = Math.min(late, run)
      else highest = run
    },
  }
}

/** Cuts a text into parts that fit a row, never between the two units of one character. */
function toParts(text: string): readonly string[] {
  const parts: string[] = []
  for (let start = 0; start < text.length; start += parts.at(-1)!.length) {
    const part = text.slice(start, start + maxPartChars)
    const isCut = start + part.length < text.length && /[\uD800-\uDBFF]$/.test(part)
    parts.push(isCut ? part.slice(0, -1) : part)
  }
  return parts
}

/** JSON of another shape would end whoever reads it: it counts as unreadable. */
const isTurn = (value: unknown) =>
  ['steps', 'calls', 'modelCalls', 'events'].every((name) => Array.isArray(fieldOf(value, name)))
const isRun = (value: unknown) => Array.isArray(fieldOf(fieldOf(value, 'submission'), 'messages'))
const fieldOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
