import type { SessionEvent } from '#contracts/event.ts'
import type { GivenUpRun, GivenUpRuns, AuditOwner } from '#runtime/session/types/audit-sink.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'

const givenUp = 'run_given_up'

// A repeated batch changes nothing. A session of the same name that was made later is another session.
const insert = `
  INSERT INTO given_up_runs (run, session, since_ms, principal, agent, trace, code, message, at_ms)
  SELECT value->>'run', ?1, ?2, ?3, value->>'agent', value->>'trace', '${givenUp}',
    coalesce(value->'data'->>'message', ''), value->>'atMs'
  FROM json_each(?4) WHERE true
  ON CONFLICT (run) DO UPDATE SET
    session = excluded.session, since_ms = excluded.since_ms, principal = excluded.principal,
    agent = excluded.agent, trace = excluded.trace, message = excluded.message,
    at_ms = excluded.at_ms, state = 'open'
  WHERE excluded.since_ms > given_up_runs.since_ms`

/** The statement that lists the given-up runs of a batch, to be committed with it; none without such runs. */
export function listGivenUp(
  database: Database,
  { session, sinceMs, principal }: AuditOwner,
  events: readonly SessionEvent[],
): readonly Statement[] {
  const rows = events
    .flatMap((event) => (event.type === 'run_finished' ? [event] : []))
    .filter(({ data }) => data.code === givenUp)
    .map(({ run, agent, trace, atMs, data: { message } }) => {
      return { run, agent, trace, atMs, data: { message } }
    })
  if (rows.length === 0) return []
  return [database.prepare(insert).bind(session, sinceMs, principal, JSON.stringify(rows))]
}

/** The runs that an operator has to decide about. Every verb throws `request_unavailable` while D1 is away. */
export function createGivenUpRuns(database: Database): GivenUpRuns {
  return {
    async list({ state, limit }) {
      const sql = 'SELECT * FROM given_up_runs WHERE state = ?1 ORDER BY at_ms DESC, run LIMIT ?2'
      const { results } = await reached(() =>
        database.prepare(sql).bind(state, limit).all<GivenUpRow>(),
      )
      return results.map(toRun)
    },
    async find(run) {
      const sql = 'SELECT * FROM given_up_runs WHERE run = ?1'
      const row = await reached(() => database.prepare(sql).bind(run).first<GivenUpRow>())
      return row ? toRun(row) : undefined
    },
    async resolve(run, state) {
      const sql = `UPDATE given_up_runs SET state = ?2 WHERE run = ?1 AND state = 'open'`
      await reached(() => database.prepare(sql).bind(run, state).run())
    },
  }
}

type GivenUpRow = Omit<GivenUpRun, 'atMs'> & { readonly at_ms: number }

function toRun(row: GivenUpRow): GivenUpRun {
  const { run, session, principal, agent, trace, code, message, at_ms: atMs, state } = row
  return { run, session, principal, agent, trace, code, message, atMs, state }
}
