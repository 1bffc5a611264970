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
interface HeldRow {
  readonly parts: number
  readonly chars: number
  readonly read: () => unknown
}

export function createNewestRun<Run>() {
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
    /** @param isNew Nothing of the run was in the database. */
    wrote: (order: number, turn: number, row: WrittenRow, isNew: boolean) => {
      if (isNew) {
        forget()
        held = { order, rows: new Map() }
      }
      if (held?.order !== order) return
      chars += row.text.length - (held.rows.get(turn)?.chars ?? 0)
      held.rows.set(turn, toHeld(row))
      if (chars > maxChars) forget()
    },
    /** `undefined` if it is another run: the caller reads the database. */
    run: (order: number) => (held?.order === order ? (held.rows.get(0)?.read() as Run) : undefined),
    turns: (order: number) => turnsOf(order)?.map(toTurn),
    /** The last turn alone, without parsing the others. */
    lastTurn: (order: number) => turnsOf(order)?.slice(-1).map(toTurn),
    /** One row of the run. */
    row: (order: number, turn: number): JoinedRow<Run> | undefined => {
      const row = held?.order === order ? held.rows.get(turn) : undefined
      if (!row) return undefined
      if (turn > 0) return { kind: 'turn', turn: toTurn(row) }
      return { kind: 'run', run: row.read() as Run }
    },
    /** The number of parts that a row is stored in, 0 if it is not stored; `undefined` if it is another run. */
    parts: (order: number, turn: number) =>
      held?.order === order ? (held.rows.get(turn)?.parts ?? 0) : undefined,
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
export type RunIndex = ReturnType<typeof createRunIndex>

export type Exec = (query: string, ...values: SqlStorageValue[]) => readonly Row[]

export function createRunIndex(exec: Exec) {
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
    get: (kind: Kind, key: string | number) => {
      if (!exists()) return undefined
      return exec('SELECT value FROM run_index WHERE kind = ? AND key = ?', kind, key)[0]?.['value']
    },
    put: (kind: Kind, key: string | number, value: SqlStorageValue) => {
      make()
      exec('INSERT OR REPLACE INTO run_index VALUES (?, ?, ?)', kind, key, value)
    },
    remove: (kind: Kind, key: string | number) => {
      if (exists()) exec('DELETE FROM run_index WHERE kind = ? AND key = ?', kind, key)
    },
    /** The keys of a kind that are texts. */
    keys: (kind: 'begins') => {
      if (!exists()) return []
      const rows = exec('SELECT key FROM run_index WHERE kind = ? ORDER BY key', kind)
      return rows.map(({ key }) => String(key))
    },
    /** The numeric keys of a kind above `key`, in order. */
    above: (kind: 'open' | 'late', key: number) => {
      if (!exists()) return []
      const query = 'SELECT key, value FROM run_index WHERE kind = ? AND key > ? ORDER BY key'
      return exec(query, kind, key).map((row) => {
        return { key: Number(row['key']), run: Number(row['value']) }
      })
    },
    /** The highest place in the log that a late run has; 0 if there is none. */
    lastLate: () => {
      if (!exists()) return 0
      const query = `SELECT key FROM run_index WHERE kind = 'late' ORDER BY key DESC LIMIT 1`
      return Number(exec(query)[0]?.['key'] ?? 0)
    },
    /** Forgets the cached knowledge of the table, after writes were rolled back. */
    forget: () => {
      isMade = undefined
    },
  }
}

/** Outcomes of background calls that are about to begin a run, by the run that made the call. */
export function createPendingOutcomes(index: RunIndex) {
  const keyOf = (run: string, call: string) => `${run} ${call}`
  return {
    /** Reads no runs. */
    count: () => index.keys('begins').length,
    list: () =>
      index.keys('begins').map((key) => {
        const at = key.indexOf(' ') // the id of a run has none
        return { run: key.slice(0, at), call: key.slice(at + 1) }
      }),
    add: (run: string, call: string) => index.put('begins', keyOf(run, call), 1),
    /** The run of the outcome has begun, or was refused. */
    remove: (run: string, call: string) => index.remove('begins', keyOf(run, call)),
  }
}
