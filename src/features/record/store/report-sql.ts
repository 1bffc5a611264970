import { column, columnNames, columns, rowsWithin } from '#platform/d1/record-sql.ts'
import { platformNanoUsdOf } from '#platform/d1/platform-sql.ts'
import { spendingTypes, type RowSums } from './tally.ts'

/** How many records a report looks at: one that is scraped every few seconds must not read a month each time. */
const maxRecords = 50_000
/** So many rows of runs are about as much; rows without sums are read event by event. */
const maxRows = maxRecords / 5

/** What a record cost: as the provider counted it or, of a request that failed, as it was booked. */
export const costNanoUsd = `coalesce(data->>'costNanoUsd', data->>'bookedCostNanoUsd', 0)`
/** For how many events a record stands. */
export const count = `coalesce(data->>'count', 1)`
/** Of how many of them it is known how long they took, and how long the longest did. */
export const withMs = `coalesce(data->>'withMs', data->>'durationMs' IS NOT NULL)`
export const maxMs = `CAST(coalesce(data->>'maxMs', data->>'durationMs') AS INTEGER)`

const spending = `type IN (${spendingTypes.map((type) => `'${type}'`).join(', ')})`

const counted = (test: string) => `iif(${test}, ${count}, 0)`
const spent = (amount: string) => `iif(${spending}, ${amount}, 0)`
const ofEnd = (field: string) => `iif(type = 'run_finished', data->>'${field}', NULL)`

const toldPlatform = `iif(type IN ('run_finished', 'run_parked'), data->>'platform', NULL)`

/** What a record adds to the sums of a row. */
const sumsOfRecord: Readonly<Record<keyof RowSums, string>> = {
  starts: counted(`type = 'run_started'`),
  spends: counted(spending),
  model_calls: counted(
    `type = 'model_called' OR (type = 'model_failed' AND coalesce(data->>'bookedTokens', 0) > 0)`,
  ),
  model_answers: counted(`type = 'model_called'`),
  tool_calls: counted(`type = 'tool_finished'`),
  input_tokens: spent(`coalesce(data->>'inputTokens', 0)`),
  output_tokens: spent(`coalesce(data->>'outputTokens', 0)`),
  booked_tokens: spent(`coalesce(data->>'bookedTokens', 0)`),
  cost_nano_usd: spent(costNanoUsd),
  state: ofEnd('state'),
  turns: ofEnd('turns'),
  platform: toldPlatform,
  // Of an event that is read by itself: its price is that of today.
  platform_nano_usd: platformNanoUsdOf(toldPlatform),
}
const sumNames = Object.keys(sumsOfRecord).join(', ')
const owner = 'principal, agent, session, run'
const summed = `${owner}, at_ms, ${Object.entries(sumsOfRecord)
  .map(([name, sql]) => `${sql} AS ${name}`)
  .join(', ')}`
const isSummed = `(type IN ('run_started', 'run_parked', 'run_finished') OR ${spending})`

/** A part of the record from one moment on: SQL of the moments, and how much of each table is read at most. */
interface Part {
  readonly from: string
  readonly until?: string
  readonly isNewest: boolean
}

/** Of each place where rows may be: those with an event in this time, and which of them are in it whole and added up. */
function rowsOf({ from, until, isNewest }: Part) {
  const { inTime, offTime } = rowsWithin(from, until)
  const place = (terms: readonly string[], order: string) =>
    `(SELECT * FROM audit_runs AS r WHERE ${terms.join(' AND ')}${
      isNewest ? ` ORDER BY ${order} LIMIT ${maxRows}` : ''
    })`
  const isWhole = [
    'r.tally IS NOT NULL',
    `r.from_ms >= ${from}`,
    ...(until ? [`r.to_ms < ${until}`] : []),
  ].join(' AND ')
  return { places: [place(inTime, 'r.id DESC'), place(offTime, 'r.to_ms DESC')], isWhole }
}

const during = (atMs: string, { from, until }: Part) =>
  `${atMs} >= ${from}${until ? ` AND ${atMs} < ${until}` : ''}`

/** However many events the rows have that are read event by event. */
const limitOf = ({ isNewest }: Part) => (isNewest ? `LIMIT ${maxRecords}` : '')

function singles(part: Part): string {
  const select = `SELECT ${columnNames} FROM audit WHERE ${during('at_ms', part)}`
  return part.isNewest
    ? `SELECT * FROM (${select} ORDER BY at_ms DESC LIMIT ${maxRecords})`
    : select
}

/** In `FROM`: records as `audit` has them. What a run spent is added up by what it was spent on, where that can be. */
function recordsOf(part: Part): string {
  const { places, isWhole } = rowsOf(part)
  const ofRows = places.map(
    (rows) => `SELECT * FROM (SELECT ${columns}
      FROM ${rows} AS r CROSS JOIN json_each(iif(${isWhole}, r.tally, r.events)) AS e
      WHERE ${during(column.at_ms, part)} ${limitOf(part)})`,
  )
  return `(${[singles(part), ...ofRows].join(' UNION ALL ')})`
}

/** In `FROM`: sums by principal, agent, session and run, some of each; no event of a run is read but at the edges. */
function sumsOf(part: Part): string {
  const { places, isWhole } = rowsOf(part)
  const ofRows = places.flatMap((rows) => [
    `SELECT ${owner}, from_ms AS at_ms, ${sumNames} FROM ${rows} AS r WHERE ${isWhole}`,
    `SELECT ${summed} FROM (SELECT ${columns} FROM ${rows} AS r CROSS JOIN json_each(r.events) AS e
      WHERE NOT (${isWhole}) AND ${during(column.at_ms, part)} ${limitOf(part)}) WHERE ${isSummed}`,
  ])
  return `(${[`SELECT ${summed} FROM (${singles(part)}) WHERE ${isSummed}`, ...ofRows].join(' UNION ALL ')})`
}

const newest: Part = { from: '?1', isNewest: true }
const between: Part = { from: '?1', until: '?2', isNewest: false }

/** The newest since `?1`, of each place where they may be, read along the time. */
export const recentRecords = recordsOf(newest)
export const recentSums = sumsOf(newest)
/** Everything from `?1` until before `?2`, read along the time. */
export const sumsBetween = sumsOf(between)
/** The same of each record that costs something, with its `type` and `data`. */
export const spendingBetween = `(SELECT type, data, ${summed} FROM ${recordsOf(between)} WHERE ${spending})`
/** The same of what no run made the platform do, as `platform`. */
export const othersBetween = `(${rowsOf(between)
  .places.map(
    (rows) =>
      `SELECT others AS platform FROM ${rows} WHERE others IS NOT NULL AND to_ms >= ?1 AND to_ms < ?2`,
  )
  .join(' UNION ALL ')})`
