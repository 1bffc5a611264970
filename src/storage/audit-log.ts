import type { AuditRecord, SessionEvent } from '#contracts/event.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { AuditPage, AuditQuery, AuditReader } from '#contracts/operations.ts'
import type { AuditBatch, AuditSink } from '#contracts/session.ts'
import type { Database } from './database.ts'
import { listGivenUp } from './given-up-runs.ts'
import { reached } from './outage.ts'
import { listSession, unlistSession } from './session-index.ts'

// A bound value of D1 ends at 2 MB; characters may be three bytes each.
const maxBatchChars = 500_000

const insert = `
  INSERT INTO audit (session, since_ms, seq, run, trace, agent, principal, type, at_ms, data)
  SELECT ?1, ?4, value->>'seq', value->>'run', value->>'trace', value->>'agent', ?2, value->>'type',
    value->>'atMs', value->'data'
  FROM json_each(?3) WHERE true
  ON CONFLICT (session, since_ms, seq) DO NOTHING`

/**
 * Takes batches of a session's log; each is one statement, and may come twice (M5, docs/design.md invariant 8). In one
 * go with it, all or nothing, the session is listed as it stands, and a run that was given up is put on the operator's
 * list.
 */
export function createAuditSink(database: Database): AuditSink {
  return {
    async append(owner, { events, card }) {
      const { session, principal, sinceMs } = owner
      if (events.length === 0) await listSession(database, owner, { card, seq: 0 }).run()
      for (const batch of toBatches(events)) {
        const seq = batch.events.at(-1)?.seq ?? 0
        await database.batch([
          database.prepare(insert).bind(session, principal, batch.json, sinceMs),
          ...listGivenUp(database, owner, batch.events),
          listSession(database, owner, { card, seq }),
        ])
      }
    },
    // Not asked of the events themselves, which expire: they would all be sent again.
    async watermark({ session, sinceMs }) {
      const sql = 'SELECT seq FROM sessions WHERE id = ?1 AND since_ms = ?2'
      const row = await database.prepare(sql).bind(session, sinceMs).first<{ seq: number }>()
      return row?.seq ?? -1
    },
    unlist: async (owner) => void (await unlistSession(database, owner).run()),
  }
}

const selectLast = 'SELECT coalesce(max(id), 0) AS last FROM audit'

/** Reads the record, or what of it is asked for. While D1 is away it throws `request_unavailable`. */
export function createAuditReader(database: Database): AuditReader {
  return {
    query: (query) =>
      reached(async () => {
        // First: what arrives while the rest is read comes after it.
        const { last = 0 } = (await database.prepare(selectLast).first<{ last: number }>()) ?? {}
        const { sql, values } = toSelect(query, last)
        const { results } = await database
          .prepare(sql)
          .bind(...values)
          .all<AuditRow>()
        return toPage(results, query, last)
      }),
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

/**
 * A session and a trace have few rows, found by their own indexes; everything else is read along the time or, in the
 * order of arrival, along the ids, and no further than asked. A plus keeps an index out of it.
 */
function toSelect(
  query: AuditQuery,
  last: number,
): { readonly sql: string; readonly values: readonly (string | number)[] } {
  const { session, after, order = 'asc' } = query
  const values: (string | number)[] = []
  const bind = (value: string | number) => `?${values.push(value)}`
  const isFew = session !== undefined || query.trace !== undefined
  const isAlongIds = order === 'asc' && !isFew && (after || query.sinceMs === undefined)
  const id = isAlongIds ? 'id' : '+id'
  const atMs = isFew || isAlongIds ? '+at_ms' : 'at_ms'
  const conditions = [`${id} <= ${bind(last)}`]
  const where = (term: string, value: string | number | undefined) => {
    if (value !== undefined) conditions.push(`${term} ${bind(value)}`)
  }
  where('trace =', query.trace)
  if (session === '') conditions.push(`session = ''`)
  else if (session !== undefined) {
    const name = bind(session)
    conditions.push(`(session = ${name} OR (session = '' AND data->>'session' = ${name}))`)
  }
  where('principal =', query.principal)
  where('agent =', query.agent)
  where('type GLOB', query.type)
  where(`data->>'plugin' =`, query.plugin)
  where(`${atMs} >=`, query.sinceMs)
  where(`${atMs} <`, query.untilMs)
  if (after && order === 'asc') where(`${id} >`, after.id)
  if (after && order === 'desc')
    conditions.push(`(${atMs}, id) < (${bind(after.atMs ?? 0)}, ${bind(after.id)})`)
  const sort = order === 'asc' ? id : `${atMs} DESC, id DESC`
  const limit = bind(query.limit)
  return {
    sql: `SELECT * FROM audit WHERE ${conditions.join(' AND ')} ORDER BY ${sort} LIMIT ${limit}`,
    values,
  }
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
  const data = JSON.parse(row.data) as JsonObject // the column holds what `insert` wrote
  return { session, seq, run, trace, agent, principal, type, atMs, data }
}

interface Rows {
  readonly json: string
  readonly events: readonly SessionEvent[]
}

function toBatches(events: AuditBatch['events']): readonly Rows[] {
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
