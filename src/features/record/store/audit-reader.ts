import type { AuditRecord, AuditPage, AuditQuery, AuditReader } from '../types/operations.ts'
import type { JsonObject } from '#contracts/json.ts'
import { type Database, reached } from '#platform/d1/database.ts'
import {
  columnNames,
  newestId,
  column,
  columns,
  rowsWithin,
  runEvents,
} from '#platform/d1/record-sql.ts'

type Values = (string | number)[]

/**
 * A part of the record as a SELECT of events, with the order that its index gives (exact for `asc`, rough for
 * `desc`).
 */
interface Source {
  readonly select: string
  readonly order: string
}

/**
 * The tables with the wanted events: the deployment's own events are in `audit`, one a row; the events of sessions
 * are in `audit_runs`, many a row. A session and a trace have indexes; other queries read along the time or, in the
 * order of arrival, along the ids. A `+` before a column keeps SQLite from using its index. A source's order is exact
 * for `asc`.
 *
 * @param last Later rows have a higher id.
 * @param values The values to bind are appended to this list.
 */
function eventSources(query: AuditQuery, last: number, values: Values): readonly Source[] {
  const { session, trace, after, sinceMs, order = 'asc' } = query
  const isFew = session !== undefined || trace !== undefined
  const isAlongIds = order === 'asc' && !isFew && (after !== undefined || sinceMs === undefined)
  const access = isFew ? 'few' : isAlongIds ? 'ids' : 'time'
  const isOfDeployment = session === ''
  return [
    singleEvents(query, { access, last, values }),
    ...(isOfDeployment ? [] : eventsOfRuns(query, { access, last, values })),
  ]
}

interface How {
  readonly access: 'few' | 'ids' | 'time'
  readonly last: number
  readonly values: Values
}

/** Collects SQL terms and the values they bind. */
function conditions(values: Values) {
  const terms: string[] = []
  const bind = (value: string | number) => `?${values.push(value)}`
  const where = (term: string, value: string | number | undefined) => {
    if (value !== undefined) terms.push(`${term} ${bind(value)}`)
  }
  return { terms, bind, where }
}

/** Attempts with a booked amount that no operator has settled. The name of an attempt: its session, run and place. */
const unconfirmed = (
  of: Readonly<Record<'session' | 'run' | 'seq' | 'type' | 'data', string>>,
): string => `${of.type} = 'model_failed' AND ${of.data}->>'bookedTokens' > 0
  AND ${of.session} || '.' || ${of.run} || '.' || (${of.seq}) NOT IN
    (SELECT data->>'attempt' FROM audit WHERE session = '' AND type = 'attempt_confirmed' AND data->>'attempt' IS NOT NULL)`

/** The columns of one kind of rows, by their names in the record; a `+` keeps an index from being used. */
type Columns = Readonly<Record<keyof typeof column, string>>

/** The terms that narrow both kinds of rows alike. */
function narrowed(query: AuditQuery, of: Columns, values: Values) {
  const { terms, bind, where } = conditions(values)
  const { after, order = 'asc' } = query
  where(`${of.trace} =`, query.trace)
  where(`${of.principal} =`, query.principal)
  where(`${of.agent} =`, query.agent)
  where(`${of.type} GLOB`, query.type)
  where(`${of.data}->>'plugin' =`, query.plugin)
  where(`${of.at_ms} >=`, query.sinceMs)
  where(`${of.at_ms} <`, query.untilMs)
  if (after && order === 'asc') where(`${of.id} >`, after.id)
  if (after && order === 'desc')
    terms.push(`(${of.at_ms}, ${of.id}) < (${bind(after.atMs ?? 0)}, ${bind(after.id)})`)
  return { terms, bind, where, order }
}

const ownColumns = Object.fromEntries(Object.keys(column).map((name) => [name, name])) as Columns

function singleEvents(query: AuditQuery, { access, last, values }: How): Source {
  const { session } = query
  const id = access === 'ids' ? 'id' : '+id'
  const atMs = access === 'time' ? 'at_ms' : '+at_ms'
  const of = { ...ownColumns, id, at_ms: atMs }
  const { terms, bind, where, order } = narrowed(query, of, values)
  where(`${id} <=`, last)
  if (session === '') terms.push(`session = ''`)
  else if (session !== undefined)
    terms.push(`(session = '' AND data->>'session' = ${bind(session)})`)
  if (query.isUnconfirmed) terms.push(unconfirmed(ownColumns))
  return {
    select: `SELECT ${columnNames} FROM audit WHERE ${terms.join(' AND ')}`,
    order: order === 'asc' ? id : `${atMs} DESC, id DESC`,
  }
}

function eventsOfRuns(query: AuditQuery, { access, last, values }: How): readonly Source[] {
  const { after, sinceMs, untilMs } = query
  const { terms, bind, where, order } = narrowed(query, column, values)
  where('r.session =', query.session)
  if (query.isUnconfirmed) terms.push(unconfirmed(column))
  const endMs = Math.min(
    untilMs ?? Infinity,
    order === 'desc' ? (after?.atMs ?? Infinity) + 1 : Infinity,
  )
  const rows = rowsWithin(
    sinceMs === undefined ? undefined : bind(sinceMs),
    endMs === Infinity ? undefined : bind(endMs),
  )
  const lastId = bind(last)
  const afterId = after && order === 'asc' ? ` AND r.id > ${bind(after.id)}` : ''
  const of = (more: readonly string[], by: string): Source => ({
    select: `SELECT ${columns} FROM ${runEvents} WHERE ${[...terms, ...more].join(' AND ')}`,
    order: by,
  })
  const byId = order === 'asc' ? 'r.id, e.key' : 'r.id DESC, e.key DESC'
  const arrived = `r.id <= ${lastId}${afterId}`
  if (access === 'few') return [of([arrived, ...rows.overlapping], byId)]
  if (access === 'ids') return [of([arrived], byId)]
  return [
    of([arrived, ...rows.inTime], byId),
    of(
      [`+${arrived}`, ...rows.offTime],
      order === 'asc' ? '+r.id, e.key' : 'r.to_ms DESC, e.key DESC',
    ),
  ]
}

/** Reads the record, narrowed by a query. Throws `request_unavailable` while D1 is away. */
export function createAuditReader(database: Database): AuditReader {
  const read = async <Row>(sql: string, values: Values) =>
    (
      await database
        .prepare(sql)
        .bind(...values)
        .all<Row>()
    ).results
  return {
    query: (query) =>
      reached(async () => {
        // Read first: rows that arrive while the page is read have a higher id.
        const [{ last } = { last: 0 }] = await read<{ last: number }>(
          `SELECT ${newestId} AS last`,
          [],
        )
        const rows = query.order === 'desc' ? await newest(query, last) : await inOrder(query, last)
        return toPage(rows, query, last)
      }),
  }

  /** In the order of arrival. */
  function inOrder(query: AuditQuery, last: number): Promise<readonly AuditRow[]> {
    const values: Values = []
    const parts = eventSources(query, last, values).map(
      ({ select, order }) => `SELECT * FROM (${select} ORDER BY ${order} LIMIT ${query.limit})`,
    )
    return read(`${parts.join(' UNION ALL ')} ORDER BY id LIMIT ${query.limit}`, values)
  }

  /**
   * By the time of each event. Indexes give the newest rows only roughly in order. So the first query finds how far
   * back the page can reach, and the second reads and sorts all events since then.
   */
  async function newest(query: AuditQuery, last: number): Promise<readonly AuditRow[]> {
    const { limit } = query
    const values: Values = []
    const parts = eventSources(query, last, values).map(
      ({ select, order }) => `SELECT at_ms FROM (${select} ORDER BY ${order} LIMIT ${limit})`,
    )
    const sql = `${parts.join(' UNION ALL ')} ORDER BY at_ms DESC LIMIT 1 OFFSET ${limit - 1}`
    const [reach] = await read<Pick<AuditRow, 'at_ms'>>(sql, values)
    const sinceMs = Math.max(query.sinceMs ?? 0, reach?.at_ms ?? 0)
    const again: Values = []
    const sources = eventSources({ ...query, sinceMs }, last, again)
    const all = sources.map(({ select }) => `SELECT ${columnNames} FROM (${select})`)
    return read(`${all.join(' UNION ALL ')} ORDER BY at_ms DESC, id DESC LIMIT ${limit}`, again)
  }
}

interface AuditRow extends Omit<AuditRecord, 'atMs' | 'data'> {
  readonly id: number
  readonly at_ms: number
  readonly data: string
}

function toPage(
  rows: readonly AuditRow[],
  { limit, order = 'asc' }: AuditQuery,
  last: number,
): AuditPage {
  const end = rows.length === limit ? rows.at(-1) : undefined
  return {
    records: rows.map(toRecord),
    ...(end && { next: { id: end.id, ...(order === 'desc' && { atMs: end.at_ms }) } }),
    last: order === 'asc' && end ? end.id : last,
  }
}

function toRecord({ id: _place, at_ms: atMs, data, ...row }: AuditRow): AuditRecord {
  return { ...row, atMs, data: JSON.parse(data) as JsonObject } // the sink wrote JSON
}
