import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { Row } from './log-rows.ts'

/** What a run has spent, as its turns have it. */
export interface RunSpent {
  readonly usage: Usage
  readonly isOver: boolean
  /** What the database had to look through for it. */
  readonly bytes: number
}

const spentQuery = `SELECT turn, part, is_final, octet_length(body) AS bytes,
    iif(turn = 0, coalesce(body->'$.inbox', body->'$.settledLate', body->'$.confirmed'), body->'$.usage') AS said
  FROM log WHERE run = ? ORDER BY turn, part`

/**
 * Reads what a run has spent without its texts. @returns `undefined` where that takes the run as a whole: something set
 * it right afterwards, it is stored in parts, or cannot be read.
 */
export function spentOf(
  order: number,
  read: (query: string, ...values: SqlStorageValue[]) => readonly Row[],
): RunSpent | undefined {
  let rows: readonly Row[]
  try {
    rows = read(spentQuery, order)
  } catch {
    return undefined // a part is no JSON
  }
  let usage = zeroUsage
  let bytes = 0
  for (const row of rows) {
    const { turn, part, said } = row
    if (part !== 0 || (turn === 0) !== (said === null)) return undefined
    if (typeof said === 'string') usage = addUsage(usage, JSON.parse(said) as Usage)
    bytes += Number(row['bytes'])
  }
  const last = rows.at(-1)
  // A place may be empty: nobody will write there.
  return { usage, isOver: !last || last['is_final'] === 1, bytes }
}
