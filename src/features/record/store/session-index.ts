import type { SessionIndex, SessionListing, SessionQuery } from '#contracts/operations.ts'
import type { AuditOwner, SessionCard } from '#runtime/session/types/audit-sink.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import { hasLanded } from './record-rows.ts'

/** Unit of the column `used_month`, by which sweeps find sessions that were not used for long. */
export const monthMs = 30 * 86_400_000

// Every run changes only these columns, which no index has. A newer row stays as it is: a batch may come twice, and a
// write that was thought lost may come last.
const touch = `
  UPDATE sessions SET used_at_ms = ?6, runs = ?7, seq = ?9
  WHERE id = ?1 AND since_ms = ?2 AND principal = ?3 AND agent IS ?4 AND kind = ?5 AND state IS ?8
    AND used_month = ?10 AND (?9, ?6) >= (seq, used_at_ms) AND ${hasLanded}`

const upsert = `
  INSERT INTO sessions (id, since_ms, principal, agent, kind, used_at_ms, runs, state, seq, used_month)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE ${hasLanded}
  ON CONFLICT (id) DO UPDATE SET
    since_ms = excluded.since_ms, principal = excluded.principal, agent = excluded.agent, kind = excluded.kind,
    used_at_ms = excluded.used_at_ms, runs = excluded.runs, state = excluded.state, seq = excluded.seq,
    used_month = excluded.used_month
  WHERE (excluded.since_ms, excluded.seq, excluded.used_at_ms) >=
    (sessions.since_ms, sessions.seq, sessions.used_at_ms)
    AND (excluded.since_ms, excluded.principal, excluded.agent, excluded.kind, excluded.state, excluded.used_month)
      IS NOT (sessions.since_ms, sessions.principal, sessions.agent, sessions.kind, sessions.state,
        sessions.used_month)`

// No index has the run: it would cost every run another row. So the newest rows are searched, at most this many
// whatever the request asks for.
const maxSearched = 50_000
const findPlace = `
  SELECT session, principal
  FROM (SELECT session, principal, run FROM audit_runs ORDER BY id DESC LIMIT ${maxSearched})
  WHERE run = ?1 LIMIT 1`

/**
 * The statements that list a session in its present state, to be committed with the events up to `seq`, if those are
 * written.
 */
export function listSession(
  database: Database,
  { session, sinceMs, principal }: AuditOwner,
  { card, seq }: { readonly card: SessionCard; readonly seq: number },
): readonly Statement[] {
  const { agent = null, kind, usedAtMs, runs, state = null } = card
  const month = Math.floor(usedAtMs / monthMs)
  const row = [session, sinceMs, principal, agent, kind, usedAtMs, runs, state, seq, month]
  return [touch, upsert].map((sql) => database.prepare(sql).bind(...row))
}

/** The statement that removes a session from the list; a later session of the same name stays. */
export function unlistSession(
  database: Database,
  { session, sinceMs }: Pick<AuditOwner, 'session' | 'sinceMs'>,
): Statement {
  const sql = 'DELETE FROM sessions WHERE id = ?1 AND since_ms <= ?2'
  return database.prepare(sql).bind(session, sinceMs)
}

/** The list of sessions without those of sub-agents, which are found through their parent. */
export function createSessionIndex(database: Database): SessionIndex {
  return {
    async list(query) {
      const { sql, values } = toSelect(query)
      const { results } = await reached(() =>
        database
          .prepare(sql)
          .bind(...values)
          .all<SessionRow>(),
      )
      const last = results.at(-1)
      const next = last &&
        results.length === query.limit && { sinceMs: last.createdAtMs, id: last.id }
      return { sessions: results.map(toListing), ...(next && { next }) }
    },
    async idsOf(principal, { after, limit }) {
      const sql = 'SELECT id FROM sessions WHERE principal = ?1 AND id > ?2 ORDER BY id LIMIT ?3'
      const statement = database.prepare(sql).bind(principal, after, limit)
      return (await reached(() => statement.all<{ id: string }>())).results.map(({ id }) => id)
    },
    async placeOf(run) {
      const statement = database.prepare(findPlace).bind(run)
      const { results } = await reached(() =>
        statement.all<{ session: string; principal: string }>(),
      )
      const [found] = results
      return found && { session: found.session, principal: found.principal }
    },
  }
}

const listed = `id, agent, principal, since_ms AS createdAtMs, used_at_ms AS usedAtMs, runs, state,
  kind = 'stateless' AS isStateless`

interface SessionRow extends Omit<SessionListing, 'isStateless'> {
  readonly isStateless: number
}

function toSelect(query: SessionQuery): {
  readonly sql: string
  readonly values: readonly (string | number)[]
} {
  const { principal, agent, state, after, limit } = query
  const values: (string | number)[] = []
  // Exactly the condition of the partial indexes.
  const conditions = [`kind <> 'child'`]
  const where = (column: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${column} = ?${values.push(value)}`)
  }
  if (!query.withStateless) where('kind', 'named')
  where('principal', principal)
  // A query for one principal reads its rows alone: a `+` keeps SQLite from the indexes over all principals.
  const mark = principal === undefined ? '' : '+'
  where(`${mark}agent`, agent)
  where(`${mark}state`, state)
  if (after)
    conditions.push(`(since_ms, id) < (?${values.push(after.sinceMs)}, ?${values.push(after.id)})`)
  const order = `ORDER BY since_ms DESC, id DESC LIMIT ?${values.push(limit)}`
  return {
    sql: `SELECT ${listed} FROM sessions WHERE ${conditions.join(' AND ')} ${order}`,
    values,
  }
}

const toListing = ({ isStateless, ...row }: SessionRow): SessionListing => ({
  ...row,
  isStateless: isStateless === 1,
})
