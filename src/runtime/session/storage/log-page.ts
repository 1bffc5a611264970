/** The limits of a page. The first row that exceeds one is the last. */
const maxPageChars = 1_000_000
const maxPageRuns = 32

type Row = Record<string, SqlStorageValue>

export interface LogPageQuery {
  /** Only events after this place. */
  readonly after: number
  /** The place of the requested run; absent: all runs. */
  readonly order?: number
}

export interface LogPageOptions {
  readonly read: (query: string, ...values: SqlStorageValue[]) => readonly Row[]
  /** Earlier runs with events after this place. */
  readonly lateAfter: (seq: number) => readonly number[]
}

/** Rows as they are stored, parts and all. */
export interface LogPage {
  readonly rows: readonly Row[]
  /** The page has everything up to this place. Later events of its rows come again on the next page. */
  readonly upTo: number
}

interface Head {
  readonly run: number
  readonly turn: number
  readonly first: number
}

const headsOf = `SELECT run, turn, first_seq FROM log WHERE part = 0 AND last_seq >`

/**
 * A stretch of the log in the order of its places, of a bounded size: rows are looked for by their key, and no more of
 * them are read than the page has.
 */
export function logPageAfter(
  { after, order }: LogPageQuery,
  { read, lateAfter }: LogPageOptions,
): LogPage {
  const from = order ?? lastBegunBy(after, read)
  const to = order ?? from + maxPageRuns - 1
  const late = order === undefined ? lateAfter(after).filter((run) => run < from || run > to) : []
  const heads = [
    ...read(`${headsOf} ? AND run BETWEEN ? AND ? AND run > 0`, after, from, to),
    ...late.flatMap((run) => read(`${headsOf} ? AND run = ?`, after, run)),
  ]
    .map((row): Head => {
      return { run: Number(row['run']), turn: Number(row['turn']), first: Number(row['first_seq']) }
    })
    .toSorted((one, other) => one.first - other.first)
  let upTo = order === undefined ? beginAfter(to, read) - 1 : Number.MAX_SAFE_INTEGER
  const rows: Row[] = []
  let chars = 0
  for (const { run, turn, first } of heads) {
    const isEnough = chars > maxPageChars && first - 1 > after
    if (first > upTo || isEnough) {
      upTo = Math.min(upTo, first - 1)
      break
    }
    const parts = read('SELECT * FROM log WHERE run = ? AND turn = ? ORDER BY part', run, turn)
    chars += parts.reduce((sum, { body }) => sum + String(body).length, 0)
    rows.push(...parts)
  }
  return { rows, upTo }
}

/** The last run that had begun by then: runs begin in their order, so it is found by halving. */
function lastBegunBy(seq: number, read: LogPageOptions['read']): number {
  const last = Number(read('SELECT max(run) AS run FROM log')[0]?.['run'] ?? 0)
  let [low, high] = [0, last]
  let begun = 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    // A place may have no run, and a run that was given up before its beginning has no place in the log.
    const [row] = read(
      `SELECT run, first_seq FROM log WHERE run > ? AND run <= ? AND turn = 0 AND part = 0
        AND first_seq IS NOT NULL ORDER BY run DESC LIMIT 1`,
      low,
      middle,
    )
    if (row && Number(row['first_seq']) > seq) high = Number(row['run']) - 1
    else {
      if (row) begun = Number(row['run'])
      low = middle
    }
  }
  return begun
}

/** The place in the log at which the next run begins; beyond every place if there is none. */
function beginAfter(order: number, read: LogPageOptions['read']): number {
  const [row] = read(
    `SELECT first_seq FROM log WHERE run > ? AND turn = 0 AND part = 0 AND first_seq IS NOT NULL
      ORDER BY run LIMIT 1`,
    order,
  )
  return row ? Number(row['first_seq']) : Number.MAX_SAFE_INTEGER
}
