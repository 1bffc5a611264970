import type { Row } from './log-rows.ts'
import type { RunIndex } from './run-index.ts'

/** The end of a session's log, read once and kept up to date, so that no request has to search for it. */
export interface LogEnd {
  /** The order of the last run with any row; 0 if there is none. */
  readonly lastOrder: () => number
  /** Whether a run stands before this place; searched for once. */
  readonly hasBefore: (order: number) => boolean
  /** The highest place of an event. */
  readonly lastSeq: () => number
  /** Whether this event belongs to a run that goes on after a later run has begun, as a parked run may. */
  readonly isLate: (order: number, seq: number) => boolean
  readonly wrote: (order: number, lastSeq: number | undefined) => void
  readonly forget: () => void
}

export function createLogEnd(
  read: (query: string) => readonly Row[],
  index: Pick<RunIndex, 'lastLate'>,
): LogEnd {
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
    lastOrder,
    lastSeq: () => lastTold().seq,
    isLate: (run, seq) => run < lastTold().order && seq > lastTold().seq,
    hasBefore(run) {
      if (first !== undefined) return first < run
      const [row] = read('SELECT run FROM log WHERE run > 0 ORDER BY run LIMIT 1')
      if (!row) return false
      first = Number(row['run'])
      return first < run
    },
    wrote(run, seq) {
      if (lastOrder() === 0) first = run
      else if (first !== undefined) first = Math.min(first, run)
      order = Math.max(lastOrder(), run)
      const last = lastTold()
      if (seq === undefined || seq <= last.seq) return
      told = { order: Math.max(last.order, run), seq }
    },
    forget() {
      order = undefined
      first = undefined
      told = undefined
    },
  }
}
