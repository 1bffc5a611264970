import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { Row } from './log-rows.ts'

/** The spending of a run, from its turns. */
export interface RunSpent {
  readonly usage: Usage
  readonly isOver: boolean
  /** The bytes that the database had to read for it. */
  readonly bytes: number
}

const spentQuery = `SELECT turn, part, is_final, octet_length(body) AS bytes,
    iif(turn = 0, coalesce(body->'$.inbox', body->'$.settledLate', body->'$.confirmed'), body->'$.usage') AS said
  FROM log WHERE run = ? ORDER BY turn, part`

/**
 * Reads the spending of a run without its texts. @returns `undefined` where that needs the whole run: its spending was
 * corrected afterwards, or it is stored in parts, or cannot be read.
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
  // The order of a declined run stays empty.
  return { usage, isOver: !last || last['is_final'] === 1, bytes }
}
