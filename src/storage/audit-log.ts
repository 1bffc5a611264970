import type { AuditRecord, SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { AuditPage, AuditQuery, AuditReader } from '#contracts/operations.ts'
import type { AuditSink } from '#contracts/session.ts'
import type { Database } from './database.ts'
import { listGivenUp } from './given-up-runs.ts'
import { reached } from './outage.ts'

// A bound value of D1 ends at 2 MB; characters may be three bytes each.
const maxBatchChars = 500_000

const insert = `
  INSERT INTO audit (session, since_ms, seq, run, trace, agent, principal, type, at_ms, data)
  SELECT ?1, ?4, value->>'seq', value->>'run', value->>'trace', value->>'agent', ?2, value->>'type',
    value->>'atMs', value->'data'
  FROM json_each(?3) WHERE true
  ON CONFLICT (session, since_ms, seq) DO NOTHING`

/**
 * Takes batches of a session's log; each is one statement, and may come twice (M5, invariant 8). A batch in which
 * a run was given up puts it on the operator's list as well, both or neither.
 */
export function createAuditSink(database: Database): AuditSink {
  return {
    async append(owner, events) {
      const { session, principal, sinceMs } = owner
      for (const batch of toBatches(events)) {
        const audit = database.prepare(insert).bind(session, principal, batch.json, sinceMs)
        const others = listGivenUp(database, owner, batch.events)
        await (others.length === 0 ? audit.run() : database.batch([audit, ...others]))
      }
    },
    async watermark({ session, sinceMs }) {
      const sql = 'SELECT max(seq) AS seq FROM audit WHERE session = ?1 AND since_ms = ?2'
      const row = await database
        .prepare(sql)
        .bind(session, sinceMs)
        .first<{ readonly seq: number | null }>()
      return row?.seq ?? 0
    },
  }
}

/**
 * Reads the record, all sessions or those of one trace or session, in the order it arrived. While D1 is away it
 * throws `request_unavailable`.
 */
export function createAuditReader(database: Database): AuditReader {
  return {
    async query(query) {
      const { sql, values } = toSelect(query)
      const { results } = await reached(() =>
        database
          .prepare(sql)
          .bind(...values)
          .all<AuditRow>(),
      )
      return toPage(results, query.limit)
    },
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

function toSelect(query: AuditQuery): {
  readonly sql: string
  readonly values: readonly (string | number)[]
} {
  const values: (string | number)[] = [query.after ?? 0]
  const conditions = ['id > ?1']
  if (query.trace !== undefined) conditions.push(`trace = ?${values.push(query.trace)}`)
  if (query.session !== undefined) conditions.push(`session = ?${values.push(query.session)}`)
  const limit = `?${values.push(query.limit)}`
  return {
    sql: `SELECT * FROM audit WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT ${limit}`,
    values,
  }
}

function toPage(rows: readonly AuditRow[], limit: number): AuditPage {
  const last = rows.at(-1)
  return {
    records: rows.map(toRecord),
    ...(last && rows.length === limit && { next: last.id }),
  }
}

function toRecord(row: AuditRow): AuditRecord {
  const { session, seq, run, trace, agent, principal, type, at_ms: atMs } = row
  const data = JSON.parse(row.data) as JsonObject // the column holds what `insert` wrote
  return { session, seq, run, trace, agent, principal, type, atMs, data }
}

interface Batch {
  readonly json: string
  readonly events: readonly SessionEvent[]
}

function toBatches(events: readonly SessionEvent[]): readonly Batch[] {
  const batches: { json: string[]; events: SessionEvent[] }[] = []
  let sizeChars = maxBatchChars
  for (const event of events) {
    const json = toJson(event)
    if (sizeChars + json.length >= maxBatchChars) {
      batches.push({ json: [], events: [] })
      sizeChars = 0
    }
    batches.at(-1)?.json.push(json)
    batches.at(-1)?.events.push(event)
    sizeChars += json.length
  }
  return batches.map((batch) => ({ json: `[${batch.json.join(',')}]`, events: batch.events }))
}

/** An event that fits no row keeps its place and says so; the session has the whole of it. */
function toJson(event: SessionEvent): string {
  const json = JSON.stringify(event)
  if (json.length < maxBatchChars) return json
  return JSON.stringify({ ...event, data: { oversizeChars: json.length } })
}
