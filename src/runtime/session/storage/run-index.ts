import { tablesMark } from '#contracts/objects.ts'
import type { Row, JoinedRow } from './log-rows.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'

/** A run longer than this is read from the database like any other. */
const maxChars = 2_000_000

/** A row as it was written. */
interface WrittenRow {
  /** The row as objects, if no other code may still change them; otherwise `text` is parsed. */
  readonly value?: unknown
  readonly text: string
  readonly parts: number
}

/**
 * A copy in memory of the run that this object began last: its rows are read several times while it works. It has
 * exactly the rows of the database; code that is unsure calls `forget`. Its objects must not be changed.
 */
export interface NewestRun<Run> {
  /** @param isNew Nothing of the run was in the database. */
  readonly wrote: (order: number, turn: number, row: WrittenRow, isNew: boolean) => void
  readonly forget: () => void
  /** `undefined` if it is another run: the caller reads the database. */
  readonly run: (order: number) => Run | undefined
  readonly turns: (order: number) => readonly TurnRecord[] | undefined
  /** The last turn alone, without parsing the others. */
  readonly lastTurn: (order: number) => readonly TurnRecord[] | undefined
  /** One row of the run. */
  readonly row: (order: number, turn: number) => JoinedRow<Run> | undefined
  /** The number of parts that a row is stored in, 0 if it is not stored; `undefined` if it is another run. */
  readonly parts: (order: number, turn: number) => number | undefined
}

interface HeldRow {
  readonly parts: number
  readonly chars: number
  readonly read: () => unknown
}

export function createNewestRun<Run>(): NewestRun<Run> {
  let held: { readonly order: number; readonly rows: Map<number, HeldRow> } | undefined
  let chars = 0

  const forget = () => {
    held = undefined
    chars = 0
  }
  const turnsOf = (order: number): readonly HeldRow[] | undefined => {
    if (held?.order !== order) return undefined
    const turns = [...held.rows].filter(([turn]) => turn > 0).sort(([a], [b]) => a - b)
    return turns.map(([, row]) => row)
  }
  const toTurn = (row: HeldRow) => row.read() as TurnRecord

  return {
    forget,
    wrote(order, turn, row, isNew) {
      if (isNew) {
        forget()
        held = { order, rows: new Map() }
      }
      if (held?.order !== order) return
      chars += row.text.length - (held.rows.get(turn)?.chars ?? 0)
      held.rows.set(turn, toHeld(row))
      if (chars > maxChars) forget()
    },
    run: (order) => (held?.order === order ? (held.rows.get(0)?.read() as Run) : undefined),
    turns: (order) => turnsOf(order)?.map(toTurn),
    lastTurn: (order) => turnsOf(order)?.slice(-1).map(toTurn),
    row(order, turn) {
      const row = held?.order === order ? held.rows.get(turn) : undefined
      if (!row) return undefined
      if (turn > 0) return { kind: 'turn', turn: toTurn(row) }
      return { kind: 'run', run: row.read() as Run }
    },
    parts: (order, turn) => (held?.order === order ? (held.rows.get(turn)?.parts ?? 0) : undefined),
  }
}

function toHeld({ value, text, parts }: WrittenRow): HeldRow {
  let known = value
  return { parts, chars: text.length, read: () => (known ??= JSON.parse(text)) }
}

type Kind =
  /** The place of a run whose id does not contain it: by id. */
  | 'id'
  /** A parked run that is not over: by place. */
  | 'open'
  /** A run that went on after later ones had begun: by the last place of it in the log, its place. */
  | 'late'
  /** The usage of all finished runs as JSON, if the session has limits: under `total`. */
  | 'spent'
  /** An outcome that is about to begin a run: by its run and call. */
  | 'begins'
  /** The handoff in force, or the last one, as JSON: under `now`. */
  | 'floor'

/**
 * Facts that the end of the log does not show: one small table, made at the first entry. A session whose runs follow
 * one another and have no idempotency keys never has the table.
 */
export interface RunIndex {
  readonly get: (kind: Kind, key: string | number) => SqlStorageValue | undefined
  readonly put: (kind: Kind, key: string | number, value: SqlStorageValue) => void
  readonly remove: (kind: Kind, key: string | number) => void
  /** The keys of a kind that are texts. */
  readonly keys: (kind: 'begins') => readonly string[]
  /** The numeric keys of a kind above `key`, in order. */
  readonly above: (
    kind: 'open' | 'late',
    key: number,
  ) => readonly { readonly key: number; readonly run: number }[]
  /** The highest place in the log that a late run has; 0 if there is none. */
  readonly lastLate: () => number
  /** Forgets the cached knowledge of the table, after writes were rolled back. */
  readonly forget: () => void
}

export type Exec = (query: string, ...values: SqlStorageValue[]) => readonly Row[]

export function createRunIndex(exec: Exec): RunIndex {
  let isMade: boolean | undefined
  const exists = () =>
    (isMade ??= exec(`SELECT 1 FROM sqlite_master WHERE name = 'run_index'`).length > 0)
  const make = () => {
    if (exists()) return
    exec(
      `CREATE TABLE run_index (${tablesMark} kind TEXT, key, value, PRIMARY KEY (kind, key)) WITHOUT ROWID`,
    )
    isMade = true
  }

  return {
    get(kind, key) {
      if (!exists()) return undefined
      return exec('SELECT value FROM run_index WHERE kind = ? AND key = ?', kind, key)[0]?.['value']
    },
    put(kind, key, value) {
      make()
      exec('INSERT OR REPLACE INTO run_index VALUES (?, ?, ?)', kind, key, value)
    },
    remove(kind, key) {
      if (exists()) exec('DELETE FROM run_index WHERE kind = ? AND key = ?', kind, key)
    },
    keys(kind) {
      if (!exists()) return []
      const rows = exec('SELECT key FROM run_index WHERE kind = ? ORDER BY key', kind)
      return rows.map(({ key }) => String(key))
    },
    above(kind, key) {
      if (!exists()) return []
      const query = 'SELECT key, value FROM run_index WHERE kind = ? AND key > ? ORDER BY key'
      return exec(query, kind, key).map((row) => {
        return { key: Number(row['key']), run: Number(row['value']) }
      })
    },
    lastLate() {
      if (!exists()) return 0
      const query = `SELECT key FROM run_index WHERE kind = 'late' ORDER BY key DESC LIMIT 1`
      return Number(exec(query)[0]?.['key'] ?? 0)
    },
    forget() {
      isMade = undefined
    },
  }
}

/** Outcomes of background calls that are about to begin a run, by the run that made the call. */
export interface PendingOutcomes {
  /** Reads no runs. */
  readonly count: () => number
  readonly list: () => readonly { readonly run: string; readonly call: string }[]
  readonly add: (run: string, call: string) => void
  /** The run of the outcome has begun, or was refused. */
  readonly remove: (run: string, call: string) => void
}

export function createPendingOutcomes(
  index: Pick<RunIndex, 'keys' | 'put' | 'remove'>,
): PendingOutcomes {
  const keyOf = (run: string, call: string) => `${run} ${call}`
  return {
    count: () => index.keys('begins').length,
    list: () =>
      index.keys('begins').map((key) => {
        const at = key.indexOf(' ') // the id of a run has none
        return { run: key.slice(0, at), call: key.slice(at + 1) }
      }),
    add: (run, call) => index.put('begins', keyOf(run, call), 1),
    remove: (run, call) => index.remove('begins', keyOf(run, call)),
  }
}
