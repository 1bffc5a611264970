// The terms that writers and readers of `audit_runs` share. An id is a time: see migrations/0001_isola.sql.

export const idsPerMs = 100
/** A row's events span at most this; an event that arrives later or earlier than this is `off_time`. */
export const spanMs = 60_000

/** The highest id that was given. */
export const newestId = `max(coalesce((SELECT max(id) FROM audit), 0), coalesce((SELECT max(id) FROM audit_runs), 0))`

/** The database's own clock: one for all writers. */
export const nowMs = `CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER)`

/** The events of rows `r`, each as `e`. */
export const runEvents = 'audit_runs AS r CROSS JOIN json_each(r.events) AS e'

/** The columns of `audit`, for an event of `runEvents`. Its number is its place in the row. */
export const column = {
  id: 'r.id - r.last_seq + r.first_seq + e.key',
  session: 'r.session',
  seq: 'r.first_seq + e.key',
  run: 'r.run',
  trace: 'r.trace',
  agent: 'r.agent',
  principal: 'r.principal',
  type: `e.value->>'type'`,
  at_ms: `e.value->>'atMs'`,
  data: `e.value->'data'`,
} as const

export const columnNames = Object.keys(column).join(', ')
export const columns = Object.entries(column)
  .map(([name, sql]) => `${sql} AS ${name}`)
  .join(', ')

/**
 * Conditions on rows `r`, for those that can have an event in a time.
 *
 * @param fromMs SQL, as is `untilMs`, which is not included; without one the time has no such end.
 */
export function rowsWithin(fromMs: string | undefined, untilMs: string | undefined) {
  const overlapping = [
    ...(fromMs ? [`r.to_ms >= ${fromMs}`] : []),
    ...(untilMs ? [`r.from_ms < ${untilMs}`] : []),
  ]
  return {
    overlapping,
    /** Rows that arrived in time, along the key. */
    inTime: [
      'r.off_time = 0',
      ...(fromMs ? [`r.id >= (${fromMs} - ${spanMs}) * ${idsPerMs}`] : []),
      ...(untilMs ? [`r.id < (${untilMs} + ${2 * spanMs}) * ${idsPerMs}`] : []),
      ...overlapping.map((term) => term.replace('r.', '+r.')),
    ],
    /** Rows that arrived off time, by the index that only they have. */
    offTime: [
      'r.off_time = 1',
      ...overlapping,
      ...(untilMs ? [`r.to_ms < ${untilMs} + ${spanMs}`] : []),
    ],
  }
}
