import { IsolaError } from '#contracts/errors.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { tablesMark } from '#contracts/object-tables.ts'
import { createLogEnd, type LogEnd } from './log-end.ts'
import { toParts, type Row } from './log-rows.ts'
import { createNewestRun, type NewestRun } from './newest-run.ts'
import { orderIn } from './run-id.ts'
import { createRunIndex, type RunIndex } from './run-index.ts'

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
export interface LogTable<Run> {
  /** Empty if the table does not exist yet. */
  readonly read: (query: string, ...values: SqlStorageValue[]) => readonly Row[]
  readonly make: () => void
  /** Inserts or replaces a row in as many parts as it takes; of a longer form nothing stays. */
  readonly write: (key: Key, value: unknown) => void
  /** All of `work`'s writes, or none. */
  readonly atomically: (work: () => void) => void
  /** The places of the parked runs. */
  readonly openRuns: () => Set<number>
  readonly onForget: (forget: () => void) => void
  /** Rows were changed past it. */
  readonly forget: () => void
  /** From here on nothing is written. */
  readonly close: () => void
  readonly drop: () => void
  readonly rowsWritten: () => number
  readonly end: LogEnd
  readonly index: RunIndex
  readonly newest: NewestRun<Run>
}

/** Whether a run is found by its id alone. The first one always is. */
export const isFoundById = (id: string, order: number): boolean =>
  order === 1 || orderIn(id) === order

/** Keeps the stored `id`: a later write of the turn must not lose the children that it began. */
const putRow = `INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  id = coalesce(excluded.id, id), first_seq = excluded.first_seq, last_seq = excluded.last_seq,
  is_final = excluded.is_final, body = excluded.body`

export function createLogTable<Run>(storage: DurableObjectStorage): LogTable<Run> {
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
    read,
    atomically,
    openRuns,
    end,
    index,
    newest,
    rowsWritten: () => rows,
    forget,
    onForget: (one) => void forgets.push(one),
    make() {
      exec(`CREATE TABLE IF NOT EXISTS log (${tablesMark}
        run INTEGER, turn INTEGER, part INTEGER, id TEXT, first_seq INTEGER, last_seq INTEGER,
        is_final INTEGER, body TEXT, PRIMARY KEY (run, turn, part)) WITHOUT ROWID`)
      isReady = true // a transaction that fails takes the table with it, and has this forgotten
    },
    write(key, value) {
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
    close() {
      forget()
      isClosed = true
    },
    drop() {
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
