import type { AuditRecord } from '../types/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { AuditPage, AuditQuery, AuditReader } from '../types/operations.ts'
import { eventSources, type Values } from './audit-sources.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/database.ts'
import { columnNames, newestId } from '#platform/d1/record-sql.ts'

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

interface AuditRow {
  readonly id: number
  readonly session: string
  readonly seq: number
  readonly run: string
  readonly trace: string
  readonly agent: string
  readonly principal: string
  readonly type: AuditRecord['type']
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

function toRecord(row: AuditRow): AuditRecord {
  const { session, seq, run, trace, agent, principal, type, at_ms: atMs } = row
  const data = JSON.parse(row.data) as JsonObject // the sink wrote JSON
  return { session, seq, run, trace, agent, principal, type, atMs, data }
}
