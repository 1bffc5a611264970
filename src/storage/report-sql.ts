import { columns, columnNames, rowsWithin, runEvents, column } from './record-sql.ts'

/** How many records a report looks at: one that is scraped every few seconds must not read a month each time. */
export const maxRecords = 50_000

const since = rowsWithin('?2', undefined)
const newest = (select: string, order: string) =>
  `SELECT * FROM (${select} ORDER BY ${order} LIMIT ?1)`
const sinceThen = (rows: readonly string[]) =>
  `SELECT ${columns} FROM ${runEvents} WHERE ${rows.join(' AND ')} AND ${column.at_ms} >= ?2`

/** In `FROM`: the newest `?1` records since `?2`, of each place where they may be, read along the time. */
export const recent = `(
  ${newest(`SELECT ${columnNames} FROM audit WHERE at_ms >= ?2`, 'at_ms DESC')} UNION ALL
  ${newest(sinceThen(since.inTime), 'r.id DESC')} UNION ALL
  ${newest(sinceThen(since.offTime), 'r.to_ms DESC')})`

const within = rowsWithin('?1', '?2')
const between = (rows: readonly string[]) =>
  `SELECT ${columns} FROM ${runEvents} WHERE ${rows.join(' AND ')} AND ${column.at_ms} >= ?1 AND ${column.at_ms} < ?2`

/** In `FROM`: every record from `?1` until before `?2`, read along the time. */
export const allBetween = `(
  SELECT ${columnNames} FROM audit WHERE at_ms >= ?1 AND at_ms < ?2 UNION ALL
  ${between(within.inTime)} UNION ALL
  ${between(within.offTime)})`

/** Of these types is what costs something; every report adds up the same. */
export const spendingTypes = `'model_called', 'model_failed', 'tool_finished', 'isolate_started'`

/** What a record cost: as the provider counted it or, of a request that failed, as it was booked. */
export const costNanoUsd = `coalesce(data->>'costNanoUsd', data->>'bookedCostNanoUsd', 0)`
