import type { Row } from './log-rows.ts'
import type { RunIndex } from './run-index.ts'

/** Most readers want the last turn only, so the first page is small; later pages are longer. */
const firstPageRows = 4
const maxPageRows = 64

/** The place of a row of the log, and its events. */
export interface LogPlace {
  readonly run: number
  readonly turn: number
  readonly firstSeq: number
}

interface Parts {
  readonly read: (query: string, ...values: SqlStorageValue[]) => readonly Row[]
  readonly index: Pick<RunIndex, 'above'>
}

const columns = 'run, turn, part, first_seq, last_seq'

/** The rows with an event after `seq`, in the order of the log: newest first read, and no further back than needed. */
function rowsAfter(seq: number, { read, index }: Parts): readonly Row[] {
  const found: Row[] = []
  let from: readonly SqlStorageValue[] = [Number.MAX_SAFE_INTEGER, 0, 0]
  for (let pageRows = firstPageRows; ; pageRows = Math.min(4 * pageRows, maxPageRows)) {
    const page = read(
      `SELECT ${columns} FROM log WHERE run > 0 AND (run, turn, part) < (?, ?, ?)
        ORDER BY run DESC, turn DESC, part DESC LIMIT ${pageRows}`,
      ...from,
    )
    for (const row of page) {
      if (row['last_seq'] === null) continue
      if (Number(row['last_seq']) > seq) found.push(row)
      else return [...lateBefore(Number(row['run'])), ...found.reverse()]
    }
    const last = page.at(-1)
    if (!last || page.length < pageRows) return found.reverse()
    from = [last['run']!, last['turn']!, last['part']!]
  }

  /** Events of earlier runs after `seq`, such as of a run that was parked. */
  function lateBefore(order: number): readonly Row[] {
    const query = `SELECT ${columns} FROM log WHERE run = ? AND last_seq > ? ORDER BY turn, part`
    const late = index.above('late', seq).map(({ run }) => run)
    const runs = [...new Set(late)].filter((run) => run < order)
    return runs.toSorted((one, other) => one - other).flatMap((run) => read(query, run, seq))
  }
}

export const placesAfter = (seq: number, parts: Parts): readonly LogPlace[] =>
  rowsAfter(seq, parts)
    .filter((row) => row['part'] === 0)
    .map((row) => ({
      run: Number(row['run']),
      turn: Number(row['turn']),
      firstSeq: Number(row['first_seq']),
    }))
    .toSorted((one, other) => one.firstSeq - other.firstSeq)

export function rowsAt(places: readonly LogPlace[], read: Parts['read']): readonly Row[] {
  const keys = JSON.stringify(places.map(({ run, turn }) => [run, turn]))
  return read(
    `SELECT log.* FROM json_each(?) AS place CROSS JOIN log
      ON log.run = place.value->>0 AND log.turn = place.value->>1 ORDER BY place.key, part`,
    keys,
  )
}
