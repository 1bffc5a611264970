import { type Row, toParts } from './log-rows.ts'
import { type RunIndex, createRunIndex, createNewestRun } from './run-index.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { tablesMark } from '#contracts/objects.ts'
import { orderIn } from './ids.ts'

/** The end of a session's log, read once and kept up to date, so that no request has to search for it. */
function createLogEnd(read: (query: string) => readonly Row[], index: RunIndex) {
  let order: number | undefined
  let first: number | undefined
  let told: { readonly order: number; readonly seq: number } | undefined

  const lastOrder = () =>
    (order ??= Number(read('SELECT max(run) AS run FROM log')[0]?.['run'] ?? 0))
  /** The last run with an event, and the last place of the log. */
  const lastTold = () => {
    if (told) return told
    const query = `SELECT run, last_seq FROM log WHERE run > 0 AND last_seq IS NOT NULL
      ORDER BY run DESC, turn DESC, part DESC LIMIT 1`
    const [row] = read(query)
    const seq = row ? Math.max(Number(row['last_seq']), index.lastLate()) : 0
    return (told = { order: Number(row?.['run'] ?? 0), seq })
  }

  return {
    /** The order of the last run with any row; 0 if there is none. */
    lastOrder,
    /** The highest place of an event. */
    lastSeq: () => lastTold().seq,
    /** Whether this event belongs to a run that goes on after a later run has begun, as a parked run may. */
    isLate: (run: number, seq: number) => run < lastTold().order && seq > lastTold().seq,
    /** Whether a run stands before this place; searched for once. */
    hasBefore: (run: number) => {
      if (first !== undefined) return first < run
      const [row] = read('SELECT run FROM log WHERE run > 0 ORDER BY run LIMIT 1')
      if (!row) return false
      first = Number(row['run'])
      return first < run
    },
    wrote: (run: number, seq: number | undefined) => {
      if (lastOrder() === 0) first = run
      else if (first !== undefined) first = Math.min(first, run)
      order = Math.max(lastOrder(), run)
      const last = lastTold()
      if (seq === undefined || seq <= last.seq) return
      told = { order: Math.max(last.order, run), seq }
    },
    forget: () => {
      order = undefined
      first = undefined
      told = undefined
    },
  }
}

/** The place of a row, and the columns of its value. */
export interface Key {
  readonly run: number
  readonly turn: number
  /**
   * The id of the session or the run. Of a turn: the children that it begins, as JSON. Absent: the stored value stays.
   */
  readonly id?: string
  readonly firstSeq?: number | undefined
  readonly lastSeq?: number | undefined
  readonly isFinal?: boolean
  /** Nothing of the run, or of the session, is in the database. */
  readonly isNew?: boolean
}

/** The tables of a session's log, with cached facts about them. After a rollback the facts are read again. */
export type LogTable<Run> = ReturnType<typeof createLogTable<Run>>

/** Whether a run is found by its id alone. The first one always is. */
export const isFoundById = (id: string, order: number): boolean =>
  order === 1 || orderIn(id) === order

/** Keeps the stored `id`: a later write of the turn must not lose the children that it began. */
const putRow = `INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  id = coalesce(excluded.id, id), first_seq = excluded.first_seq, last_seq = excluded.last_seq,
  is_final = excluded.is_final, body = excluded.body`

export function createLogTable<Run>(storage: DurableObjectStorage) {
  const { sql } = storage
  const forgets: (() => void)[] = []
  let rows = 0
  let isReady: boolean | undefined
  let isClosed = false
  let open: Set<number> | undefined

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
  const index = createRunIndex(exec)
  const newest = createNewestRun<Run>()
  const end = createLogEnd(read, index)
  const openRuns = () => (open ??= new Set(index.above('open', 0).map(({ key }) => key)))

  const forget = () => {
    for (const one of [end.forget, index.forget, newest.forget, ...forgets]) one()
    open = undefined
    isReady = undefined
  }
  const atomically = (work: () => void) => {
    try {
      storage.transactionSync(work)
    } catch (error) {
      forget()
      throw error
    }
  }
  const put = ({ run, turn, id, firstSeq, lastSeq, isFinal }: Key, part: number, text: string) =>
    exec(
      putRow,
      run,
      turn,
      part,
      turn === 0 || part === 0 ? (id ?? null) : null,
      firstSeq ?? null,
      lastSeq ?? null,
      isFinal ? 1 : 0,
      text,
    )
  const noteLate = (run: number, lastSeq: number) => {
    const query = 'SELECT last_seq FROM log WHERE run = ? ORDER BY turn DESC, part DESC LIMIT 1'
    const before = exec(query, run)[0]?.['last_seq'] ?? null
    if (before !== null) index.remove('late', Number(before))
    index.put('late', lastSeq, run)
  }

  return {
    /** Empty if the table does not exist yet. */
    read,
    /** All of `work`'s writes, or none. */
    atomically,
    /** The places of the parked runs. */
    openRuns,
    end,
    index,
    newest,
    rowsWritten: () => rows,
    /** Rows were changed past it. */
    forget,
    onForget: (one: () => void) => void forgets.push(one),
    make() {
      exec(`CREATE TABLE IF NOT EXISTS log (${tablesMark}
        run INTEGER, turn INTEGER, part INTEGER, id TEXT, first_seq INTEGER, last_seq INTEGER,
        is_final INTEGER, body TEXT, PRIMARY KEY (run, turn, part)) WITHOUT ROWID`)
      isReady = true // a transaction that fails takes the table with it, and has this forgotten
    },
    /** Inserts or replaces a row in as many parts as it takes; of a longer form nothing stays. */
    write: (key: Key, value: unknown) => {
      if (isClosed) throw new IsolaError('request_not_found', 'The session was deleted.')
      const { run, turn, lastSeq, isNew = false } = key
      const text = JSON.stringify(value)
      const parts = toParts(text)
      const before = isNew ? 0 : newest.parts(run, turn)
      const isLate = lastSeq !== undefined && end.isLate(run, lastSeq)
      if (parts.length === 1 && before !== undefined && before <= 1 && !isLate) put(key, 0, text)
      else {
        atomically(() => {
          if (isLate) noteLate(run, lastSeq)
          if (before === undefined || before > parts.length) {
            const rest = 'DELETE FROM log WHERE run = ? AND turn = ? AND part >= ?'
            exec(rest, run, turn, parts.length)
          }
          for (const [part, piece] of parts.entries()) put(key, part, piece)
        })
      }
      if (run === 0) return
      end.wrote(run, lastSeq)
      newest.wrote(run, turn, { text, parts: parts.length, ...heldAs(value, turn) }, isNew)
    },
    /** From here on nothing is written. */
    close: () => {
      forget()
      isClosed = true
    },
    drop: () => {
      storage.transactionSync(() => {
        for (const name of ['log', 'items', 'run_index']) exec(`DROP TABLE IF EXISTS ${name}`)
      })
      forget()
      isReady = false
      isClosed = true
    },
  }
}

/** A tool may still change the object that it returned, so a turn with calls is cached as text only. */
function heldAs(value: unknown, turn: number): { readonly value?: unknown } {
  return turn > 0 && (value as TurnRecord).calls.length > 0 ? {} : { value }
}

interface Identified {
  readonly id: string
  readonly isDeleted?: boolean
}

/** The session's own row, read once. While the session is being removed, the row is not read and not written. */
export function createSessionRecord<Session extends Identified>(table: LogTable<unknown>) {
  let known: Session | undefined
  let isClosed = false
  table.onForget(() => (known = undefined))

  const read = (): Session | undefined => {
    const parts = table.read('SELECT body FROM log WHERE run = 0 ORDER BY part')
    const text = parts.map(({ body }) => String(body)).join('')
    const session = text === '' ? undefined : (JSON.parse(text) as Session)
    isClosed = session?.isDeleted === true
    if (isClosed) table.close()
    return isClosed ? undefined : session
  }
  const session = () => (known ??= read())

  return {
    session,
    writeSession: (next: Session) => {
      const isNew = session() === undefined
      table.make()
      table.write({ run: 0, turn: 0, id: next.id, isNew }, next)
      known = next
    },
    close: () => {
      const open = session()
      if (open) table.write({ run: 0, turn: 0, id: open.id }, { ...open, isDeleted: true })
      table.close()
    },
    isClosed: () => {
      session()
      return isClosed
    },
  }
}
