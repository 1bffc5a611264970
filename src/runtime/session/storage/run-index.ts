import { tablesMark } from '#contracts/objects.ts'
import type { Row } from './log-rows.ts'

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
