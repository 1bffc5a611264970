import type { SessionEvent } from '#contracts/event.ts'
import type {
  GivenUpRun,
  GivenUpRuns,
  AuditOwner,
  AuditSink,
} from '#runtime/session/types/audit-sink.ts'
import { type Database, type Statement, billedBy, reached } from '#platform/d1/database.ts'
import { defined } from '#contracts/defined.ts'
import { forgetApprovals, mirrorApprovals } from '#features/approvals/store/approval-mirror.ts'
import { createDeploymentCount, type DeploymentCount } from './deployment-count.ts'
import { askKnown, toChunks, writeChunk } from './record-rows.ts'
import { failIfWanted } from '#features/schedules/store/schedules.ts'
import { listSession, unlistSession } from './session-index.ts'

const givenUp = 'run_given_up'
const givenUpColumns = 'run, session, principal, agent, trace, code, message, at_ms AS atMs, state'

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
function listGivenUp(
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
      const sql = `SELECT ${givenUpColumns} FROM given_up_runs WHERE state = ?1 ORDER BY at_ms DESC, run LIMIT ?2`
      const { results } = await reached(() =>
        database.prepare(sql).bind(state, limit).all<GivenUpRun>(),
      )
      return results
    },
    async find(run) {
      const sql = `SELECT ${givenUpColumns} FROM given_up_runs WHERE run = ?1`
      const row = await reached(() => database.prepare(sql).bind(run).first<GivenUpRun>())
      return row ?? undefined
    },
    async resolve(run, state) {
      const sql = `UPDATE given_up_runs SET state = ?2 WHERE run = ?1 AND state = 'open'`
      await reached(() => database.prepare(sql).bind(run, state).run())
    },
  }
}

/**
 * Takes batches of a session's log: a row for each run in it, all in one statement. A batch may come twice, late, or
 * again with more events at its end (M5, docs/design.md invariant 8). The same transaction updates the session's row
 * in the list, the operator's list of given-up runs, and the inbox of approvals.
 */
export function createAuditSink(
  database: Database,
  deployment: Pick<DeploymentCount, 'take' | 'count'> = createDeploymentCount(),
): AuditSink {
  const append: AuditSink['append'] = async (
    owner,
    { events, card, unheard },
    counted = () => {},
  ) => {
    if (events.length === 0)
      counted(billedBy(await database.batch([...listSession(database, owner, { card, seq: 0 })])))
    for (const chunk of toChunks(events)) {
      const chunkEvents = events.filter(({ seq }) => chunk.firstSeq <= seq && seq <= chunk.lastSeq)
      const others = deployment.take()
      const back = (error: unknown) => {
        deployment.count(others)
        throw error
      }
      const wanting = failIfWanted(database, unheard)
      const batch = database.batch([
        ...wanting,
        writeChunk(database, owner, { ...chunk, others }),
        ...listGivenUp(database, owner, chunkEvents),
        ...mirrorApprovals(database, owner, chunkEvents),
        ...listSession(database, owner, { card, seq: chunk.lastSeq }),
      ])
      const results = await batch.catch(back)
      counted(billedBy(results))
      if (results[wanting.length]?.results.length !== 0) continue
      const asked = await askKnown(database, owner).all<{ readonly seq: number }>()
      counted(billedBy([asked]))
      const known = asked.results[0]?.seq ?? 0
      // The record has a part of the chunk already, so this write did nothing: the new events are written alone.
      if (known < chunk.lastSeq) {
        deployment.count(others)
        const rest = chunkEvents.filter(({ seq }) => seq > known)
        await append(owner, { events: rest, card, ...defined({ unheard }) }, counted)
      }
    }
  }
  return {
    append,
    // Read from the list, not from the events: events expire, and then all of them would be sent again.
    async watermark({ session, sinceMs }, counted = () => {}) {
      const sql = 'SELECT seq FROM sessions WHERE id = ?1 AND since_ms = ?2'
      const found = await database.prepare(sql).bind(session, sinceMs).all<{ seq: number }>()
      counted(billedBy([found]))
      return found.results[0]?.seq ?? -1
    },
    unlist: async (owner) =>
      void (await database.batch([
        unlistSession(database, owner),
        ...forgetApprovals(database, owner),
      ])),
  }
}
