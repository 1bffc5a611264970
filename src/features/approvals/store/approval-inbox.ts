import type {
  ApprovalEntry,
  ApprovalInbox,
  ApprovalQuery,
} from '#runtime/session/types/approval.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Database } from '#platform/d1/database.ts'
import { rowsOf } from '#platform/d1/database.ts'

const select = `
  SELECT id, state, session, run, call, principal, agent, tool, approver, args_hash AS argsHash, shape, label, reason,
    rule, at_ms AS atMs, decided_by AS decidedBy, decided_at_ms AS decidedAtMs
  FROM approvals`
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
      const rows = await rowsOf<EntryRow>(database, sql, ...values)
      const last = rows.at(-1)
      const next = last && rows.length === query.limit && { atMs: last.atMs, id: last.id }
      return { entries: rows.map(toEntry), ...(next && { next }) }
    },
    async find(id) {
      const [row] = await rowsOf<EntryRow>(database, `${select} WHERE id = ?1`, id)
      return row && toEntry(row)
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
  return { sql: `${select} ${where} ${order}`, values }
}

interface EntryRow extends Omit<ApprovalEntry, 'label' | 'decidedBy'> {
  readonly label: string
  readonly decidedBy?: string
}

const toEntry = ({ label, decidedBy, ...row }: EntryRow): ApprovalEntry => ({
  ...row,
  label: JSON.parse(label),
  ...(decidedBy !== undefined && { decidedBy: JSON.parse(decidedBy) }),
})
