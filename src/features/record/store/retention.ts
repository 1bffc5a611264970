import { errorMessage } from '#contracts/errors.ts'
import type { Incident } from '#runtime/session/types/principal.ts'
import type { SessionTiming } from '#runtime/session/types/runtime.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Database } from '#platform/d1/database.ts'
import { expireDrafts } from '#features/skills/store/expire-drafts.ts'
import { newestId } from '#platform/d1/record-sql.ts'
import { monthMs } from './session-index.ts'

/** How long what is kept, and how much of it is deleted at once. */
export interface RetentionOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'nowMs'>
  /** Absent: for ever. */
  readonly keepAuditMs?: number
  readonly keep: Pick<SessionTiming, 'keepNamedMs' | 'keepStatelessMs'> & {
    /** Drafts of skills that nobody promoted, since they were written last. */
    readonly keepDraftsMs: number
  }
  /** Takes away some bundles of plugins that nobody can need any more; 0 is the end. */
  readonly collect?: () => Promise<number>
  readonly tell: (incident: Incident) => Promise<void>
  readonly batchRows?: number
  /** Of `audit_runs`, whose rows are larger: each has all events of a run. */
  readonly batchRuns?: number
  /** Of `batchRows` each; smaller ones count for as much less. */
  readonly maxBatches?: number
}

/**
 * The oldest events whose time is over. In the order they arrived, and nothing is left out in between: what goes of a
 * session's log is always its beginning, so that a chain over the rest stays provable. Two rows always stay: the
 * newest, since ids must go on from it, and the newest of the deployment's own log, whose numbers do.
 */
const deleteEvents = `
  WITH oldest AS (SELECT id, at_ms FROM audit ORDER BY id LIMIT ?2)
  DELETE FROM audit
  WHERE id IN (SELECT id FROM oldest)
    AND id < coalesce((SELECT min(id) FROM oldest WHERE at_ms >= ?1), ${newestId})
    AND id <> coalesce((SELECT id FROM audit WHERE session = '' AND since_ms = 0 ORDER BY seq DESC LIMIT 1), 0)
  RETURNING id`

/** The same of what is in rows of runs. */
const deleteRuns = `
  WITH oldest AS (SELECT id, to_ms FROM audit_runs ORDER BY id LIMIT ?2)
  DELETE FROM audit_runs
  WHERE id IN (SELECT id FROM oldest)
    AND id < coalesce((SELECT min(id) FROM oldest WHERE to_ms >= ?1), ${newestId})
  RETURNING id`

/** Who would decide about a run whose session is gone? Each half by its part of the index: an OR would read them all. */
const deleteGivenUp = `
  DELETE FROM given_up_runs WHERE run IN (
    SELECT run FROM given_up_runs WHERE state IN ('retried', 'dropped') AND at_ms < ?1
    UNION ALL
    SELECT run FROM given_up_runs WHERE state = 'open' AND at_ms < ?1
      AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = given_up_runs.session)
    LIMIT ?2)
  RETURNING run`

/** What was decided, or ended undecided; what is open goes with its session. */
const deleteApprovals = `
  DELETE FROM approvals WHERE id IN (
    SELECT id FROM approvals WHERE state IN ('approved', 'denied', 'expired', 'ended') AND at_ms < ?1 LIMIT ?2)`

const deleteRules = `
  DELETE FROM approval_rules WHERE id IN (SELECT id FROM approval_rules WHERE expires_at_ms < ?1 LIMIT ?2)`

/** A session takes its own row with it. This is for one that came after: a write that was thought lost. */
const deleteSessions = `
  DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE kind = 'stateless' AND used_month <= ?1 / ${monthMs} AND used_at_ms < ?1
    UNION ALL
    SELECT id FROM sessions WHERE kind <> 'stateless' AND used_month <= ?2 / ${monthMs} AND used_at_ms < ?2
    LIMIT ?3)
  RETURNING id`

/** Deleting itself may take a session that much longer than it is kept. */
const marginMs = 30 * 86_400_000

/**
 * Empties the tables of what is not kept any longer, in batches with a bound; the next time goes on. Never throws:
 * what went wrong is an incident, and the operator's page shows it until a time went well.
 */
export function createRetention(options: RetentionOptions): () => Promise<void> {
  const { database, clock, keepAuditMs, keep, collect, tell } = options
  const { batchRows = 5_000, batchRuns = 500, maxBatches = 40 } = options
  return async () => {
    const nowMs = clock.nowMs()
    let leftRows = maxBatches * batchRows
    const empty = async (sql: string, cutoffs: readonly number[], rows: number = batchRows) => {
      for (;;) {
        if (leftRows <= 0) throw thereIsMore()
        leftRows -= rows
        const statement = database.prepare(sql).bind(...cutoffs, rows)
        if ((await statement.all()).results.length === 0) return
      }
    }
    /** Of what persons have made there is never much more. */
    const some = (sql: string, cutoffs: readonly number[]) =>
      database
        .prepare(sql)
        .bind(...cutoffs, batchRows)
        .run()
    const about = { kind: 'retention_failed', session: '' } as const
    try {
      const lateMs = nowMs - marginMs
      await empty(deleteSessions, [lateMs - keep.keepStatelessMs, lateMs - keep.keepNamedMs])
      if (keepAuditMs !== undefined) {
        const cutoff = [nowMs - keepAuditMs]
        await empty(deleteGivenUp, cutoff)
        await empty(deleteEvents, cutoff)
        await empty(deleteRuns, cutoff, batchRuns)
        await some(deleteApprovals, cutoff)
      }
      await some(deleteRules, [nowMs])
      await expireDrafts(database, { beforeMs: nowMs - keep.keepDraftsMs, nowMs })
      for (let left = maxBatches; collect && (await collect()) > 0; left -= 1)
        if (left <= 1) throw thereIsMore()
      await tell({ ...about, message: '', isOver: true }).catch(() => {}) // told the next time
    } catch (error) {
      await tell({ ...about, message: errorMessage(error) }).catch(() => {}) // nobody can be told
    }
  }
}

const thereIsMore = () => new Error('There is more than one time can delete: the next goes on.')
