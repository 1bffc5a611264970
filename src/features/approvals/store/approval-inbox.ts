import type {
  ApprovalEntry,
  ApprovalInbox,
  ApprovalQuery,
} from '#runtime/session/types/approval.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/outage.ts'

// `seq` is not written here: the event on the record arrives later, and decides.
const mark = `
  UPDATE approvals SET state = ?4, decided_by = ?5, decided_at_ms = ?6
  WHERE session = ?1 AND run = ?2 AND call = ?3 AND state = 'open'`

/** The calls of all sessions that wait or waited for a yes, as the record has them. */
export function createApprovalInbox(
  database: Database,
  clock: Pick<Clock, 'nowMs'>,
): ApprovalInbox {
  return {
    async list(query) {
      const { sql, values } = toSelect(query)
      const statement = database.prepare(sql).bind(...values)
      const { results } = await reached(() => statement.all<EntryRow>())
      const last = results.at(-1)
      const next = last && results.length === query.limit && { atMs: last.at_ms, id: last.id }
      return { entries: results.map(toEntry), ...(next && { next }) }
    },
    async find(id) {
      const statement = database.prepare('SELECT * FROM approvals WHERE id = ?1').bind(id)
      const row = await reached(() => statement.first<EntryRow>())
      return row ? toEntry(row) : undefined
    },
    async mark({ session, run, call, state, decidedBy }) {
      const statement = database
        .prepare(mark)
        .bind(session, run, call, state, JSON.stringify(decidedBy), clock.nowMs())
      await statement.run().catch(() => {}) // the record says it later
    },
  }
}

function toSelect(query: ApprovalQuery): {
  readonly sql: string
  readonly values: readonly (string | number)[]
} {
  const { state, approver, agent, principal, tool, session, shape, after, limit } = query
  const values: (string | number)[] = []
  const bind = (value: string | number) => `?${values.push(value)}`
  const wanted = { state, approver, agent, principal, tool, session, shape }
  const conditions = Object.entries(wanted).flatMap(([column, value]) =>
    value === undefined ? [] : [`${column} = ${bind(value)}`],
  )
  if (after) conditions.push(`(at_ms, id) < (${bind(after.atMs)}, ${bind(after.id)})`)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const order = `ORDER BY at_ms DESC, id DESC LIMIT ${bind(limit)}`
  return { sql: `SELECT * FROM approvals ${where} ${order}`, values }
}

interface EntryRow {
  readonly id: string
  readonly session: string
  readonly run: string
  readonly call: string
  readonly principal: string
  readonly agent: string
  readonly tool: string
  readonly approver: ApprovalEntry['approver']
  readonly args_hash: string
  readonly shape: string
  readonly label: string
  readonly reason: string
  readonly rule: string
  readonly at_ms: number
  readonly state: ApprovalEntry['state']
  readonly decided_by: string | null
  readonly decided_at_ms: number | null
}

function toEntry(row: EntryRow): ApprovalEntry {
  const { id, state, session, run, call, principal, agent, tool, approver, shape, reason } = row
  const { rule, args_hash: argsHash, at_ms: atMs, decided_by: by, decided_at_ms: at } = row
  return {
    id,
    state,
    session,
    run,
    call,
    principal,
    agent,
    tool,
    approver,
    argsHash,
    shape,
    label: JSON.parse(row.label),
    reason,
    rule,
    atMs,
    ...(by !== null && { decidedBy: JSON.parse(by) }),
    ...(at !== null && { decidedAtMs: at }),
  }
}
