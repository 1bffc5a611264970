import { column, columnNames, columns, rowsWithin } from '#platform/d1/record-sql.ts'
import { platformNanoUsdOf } from '#platform/d1/platform-sql.ts'
import { spendingTypes, type RowSums } from './record-rows.ts'

/** How many records a report reads: a report that is scraped every few seconds must not read a month each time. */
const maxRecords = 50_000
/** About as many events in rows of runs. A row without sums is read event by event. */
const maxRows = maxRecords / 5

/** The cost of a record: as the provider counted it or, for a failed request, the booked amount. */
export const costNanoUsd = `coalesce(data->>'costNanoUsd', data->>'bookedCostNanoUsd', 0)`
/** How many events a record stands for. */
export const count = `coalesce(data->>'count', 1)`
/** How many of these events have a duration, and the longest duration in milliseconds. */
export const withMs = `coalesce(data->>'withMs', data->>'durationMs' IS NOT NULL)`
export const maxMs = `CAST(coalesce(data->>'maxMs', data->>'durationMs') AS INTEGER)`

const spending = `type IN (${spendingTypes.map((type) => `'${type}'`).join(', ')})`

const counted = (test: string) => `iif(${test}, ${count}, 0)`
const spent = (amount: string) => `iif(${spending}, ${amount}, 0)`
const ofEnd = (field: string) => `iif(type = 'run_finished', data->>'${field}', NULL)`

const toldPlatform = `iif(type IN ('run_finished', 'run_parked'), data->>'platform', NULL)`

/** What a record adds to each sum of a row. */
const sumsOfRecord: RowSums<string> = {
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
  // For an event that is read by itself, at today's price.
  platform_nano_usd: platformNanoUsdOf(toldPlatform),
}
const sumNames = Object.keys(sumsOfRecord).join(', ')
const owner = 'principal, agent, session, run'
const summed = `${owner}, at_ms, ${Object.entries(sumsOfRecord)
  .map(([name, sql]) => `${sql} AS ${name}`)
  .join(', ')}`
const isSummed = `(type IN ('run_started', 'run_parked', 'run_finished') OR ${spending})`

/** A time range of the record: SQL of its ends, and whether only the newest rows are read. */
interface Part {
  readonly from: string
  readonly until?: string
  readonly isNewest: boolean
}

/**
 * Rows of runs with an event in this time, by the index that finds them, and a condition for rows that are wholly in
 * it and have sums.
 */
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

/** A limit for rows that are read event by event, which may have any number of events. */
const limitOf = ({ isNewest }: Part) => (isNewest ? `LIMIT ${maxRecords}` : '')

function singles(part: Part): string {
  const select = `SELECT ${columnNames} FROM audit WHERE ${during('at_ms', part)}`
  return part.isNewest
    ? `SELECT * FROM (${select} ORDER BY at_ms DESC LIMIT ${maxRecords})`
    : select
}

/** For `FROM`: records with the columns of `audit`. A row's tally replaces its events where it can. */
function recordsOf(part: Part): string {
  const { places, isWhole } = rowsOf(part)
  const ofRows = places.map(
    (rows) => `SELECT * FROM (SELECT ${columns}
      FROM ${rows} AS r CROSS JOIN json_each(iif(${isWhole}, r.tally, r.events)) AS e
      WHERE ${during(column.at_ms, part)} ${limitOf(part)})`,
  )
  return `(${[singles(part), ...ofRows].join(' UNION ALL ')})`
}

/**
 * For `FROM`: partial sums by principal, agent, session and run. Only rows at the edges of the time are read event by
 * event.
 */
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

/** The newest records and sums since `?1`, read along the time. */
export const recentRecords = recordsOf(newest)
export const recentSums = sumsOf(newest)
/** All sums from `?1` until before `?2`, read along the time. */
export const sumsBetween = sumsOf(between)
/** The same for each record that costs something, with its `type` and `data`. */
export const spendingBetween = `(SELECT type, data, ${summed} FROM ${recordsOf(between)} WHERE ${spending})`
/** The same for the platform's work that belongs to no run, as `platform`. */
export const othersBetween = `(${rowsOf(between)
  .places.map(
    (rows) =>
      `SELECT others AS platform FROM ${rows} WHERE others IS NOT NULL AND to_ms >= ?1 AND to_ms < ?2`,
  )
  .join(' UNION ALL ')})`
