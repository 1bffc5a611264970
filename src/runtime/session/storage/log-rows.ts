import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { addUsage, zeroUsage, type Usage } from '#contracts/lease.ts'

/** A row as SQLite gives it. */
export type Row = Record<string, SqlStorageValue>

/** A value over 2 MB does not fit a row: longer turns are split. A unit of UTF-16 takes up to three bytes there. */
const maxPartChars = 600_000

/** A row put together: a run, as the store types it, or a turn of one. */
export type JoinedRow<Run> =
  | { readonly kind: 'run'; readonly run: Run }
  | { readonly kind: 'turn'; readonly turn: TurnRecord }

/** Cuts a text into parts that fit a row, never between the two units of one character. */
export function toParts(text: string): readonly string[] {
  const parts: string[] = []
  for (let start = 0; start < text.length; start += parts.at(-1)!.length) {
    const part = text.slice(start, start + maxPartChars)
    const isCut = start + part.length < text.length && /[\uD800-\uDBFF]$/.test(part)
    parts.push(isCut ? part.slice(0, -1) : part)
  }
  return parts
}

/**
 * Joins the parts of each row.
 *
 * @param onDamaged Called with the run of a row that cannot be read; the row is left out.
 */
export function join<Run>(
  rows: readonly Row[],
  onDamaged: (order: number) => void,
): JoinedRow<Run>[] {
  const bodies = new Map<string, { run: number; turn: number; text: string }>()
  for (const row of rows) {
    const key = `${row['run']}:${row['turn']}`
    const before = bodies.get(key)?.text ?? ''
    const [run, turn] = [Number(row['run']), Number(row['turn'])]
    bodies.set(key, { run, turn, text: before + String(row['body']) })
  }
  return [...bodies.values()].flatMap(({ run, turn, text }): JoinedRow<Run>[] => {
    const value = parse(text)
    if (value !== undefined && (turn === 0 ? isRun(value) : isTurn(value))) {
      return turn === 0
        ? [{ kind: 'run', run: value as Run }]
        : [{ kind: 'turn', turn: value as TurnRecord }]
    }
    onDamaged(run)
    return []
  })
}

/** JSON of another shape would crash its reader, so it counts as unreadable. */
const isTurn = (value: unknown) =>
  ['steps', 'calls', 'modelCalls', 'events'].every((name) => Array.isArray(fieldOf(value, name)))
const isRun = (value: unknown) => Array.isArray(fieldOf(fieldOf(value, 'submission'), 'messages'))
const fieldOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

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
  /** Earlier runs with events after this place. */
  readonly lateAfter: (seq: number) => readonly number[]
}

const columns = 'run, turn, part, first_seq, last_seq'

/** The rows with an event after `seq`, in the order of the log: newest first read, and no further back than needed. */
function rowsAfter(seq: number, { read, lateAfter }: Parts): readonly Row[] {
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
    const runs = lateAfter(seq).filter((run) => run < order)
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

/** The limits of a page. The first row that exceeds one is the last. */
const maxPageChars = 1_000_000
const maxPageRuns = 32

export interface LogPageQuery {
  /** Only events after this place. */
  readonly after: number
  /** The place of the requested run; absent: all runs. */
  readonly order?: number
}

/** Rows as they are stored, parts and all. */
interface LogPage {
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
export function logPageAfter({ after, order }: LogPageQuery, { read, lateAfter }: Parts): LogPage {
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
function lastBegunBy(seq: number, read: Parts['read']): number {
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
function beginAfter(order: number, read: Parts['read']): number {
  const [row] = read(
    `SELECT first_seq FROM log WHERE run > ? AND turn = 0 AND part = 0 AND first_seq IS NOT NULL
      ORDER BY run LIMIT 1`,
    order,
  )
  return row ? Number(row['first_seq']) : Number.MAX_SAFE_INTEGER
}
