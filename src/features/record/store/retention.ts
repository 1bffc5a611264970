import { errorMessage } from '#contracts/errors.ts'
import type { Incident } from '#runtime/session/types/principal.ts'
import type { SessionTiming } from '#runtime/session/types/runtime.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Database } from '#platform/d1/database.ts'
import { expireDrafts } from '#features/skills/store/skill-drafts.ts'
import { newestId } from '#platform/d1/record-sql.ts'
import { monthMs } from './session-index.ts'

/** How long each kind of row is kept, and how many rows are deleted at once. */
export interface RetentionOptions {
  readonly database: Database
  readonly clock: Pick<Clock, 'nowMs'>
  /** Absent: kept for ever. */
  readonly keepAuditMs?: number
  readonly keep: Pick<SessionTiming, 'keepNamedMs' | 'keepStatelessMs'> & {
    /** How long a draft of a skill is kept after its last writing if no principal promotes it. */
    readonly keepDraftsMs: number
  }
  /** Deletes some bundles of plugins that no generation can need any more. @returns How many; 0 ends it. */
  readonly collect?: () => Promise<number>
  readonly tell: (incident: Incident) => Promise<void>
  readonly batchRows?: number
  /** Batch size for `audit_runs`, whose rows are larger: each has all events of a run. */
  readonly batchRuns?: number
  /** How many batches of `batchRows` one sweep deletes; a smaller batch counts as a fraction. */
  readonly maxBatches?: number
}

/**
 * Deletes the oldest expired events. In the order of arrival and without gaps: a session's log loses only its
 * beginning, so that a hash chain over the rest can still be verified. Two rows always stay: the newest row, because
 * ids continue from it, and the newest of the deployment's own log, because its numbers do.
 */
const deleteEvents = `
  WITH oldest AS (SELECT id, at_ms FROM audit ORDER BY id LIMIT ?2)
  DELETE FROM audit
  WHERE id IN (SELECT id FROM oldest)
    AND id < coalesce((SELECT min(id) FROM oldest WHERE at_ms >= ?1), ${newestId})
    AND id <> coalesce((SELECT id FROM audit WHERE session = '' AND since_ms = 0 ORDER BY seq DESC LIMIT 1), 0)
  RETURNING id`

/** The same for rows of runs. */
const deleteRuns = `
  WITH oldest AS (SELECT id, to_ms FROM audit_runs ORDER BY id LIMIT ?2)
  DELETE FROM audit_runs
  WHERE id IN (SELECT id FROM oldest)
    AND id < coalesce((SELECT min(id) FROM oldest WHERE to_ms >= ?1), ${newestId})
  RETURNING id`

/**
 * A run is not decidable once its session is gone. Two SELECTs, each with its part of the index: an OR would read all
 * rows.
 */
const deleteGivenUp = `
  DELETE FROM given_up_runs WHERE run IN (
    SELECT run FROM given_up_runs WHERE state IN ('retried', 'dropped') AND at_ms < ?1
    UNION ALL
    SELECT run FROM given_up_runs WHERE state = 'open' AND at_ms < ?1
      AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = given_up_runs.session)
    LIMIT ?2)
  RETURNING run`

/** Deletes decided and ended approvals; an open approval is deleted with its session. */
const deleteApprovals = `
  DELETE FROM approvals WHERE id IN (
    SELECT id FROM approvals WHERE state IN ('approved', 'denied', 'expired', 'ended') AND at_ms < ?1 LIMIT ?2)`

const deleteRules = `
  DELETE FROM approval_rules WHERE id IN (SELECT id FROM approval_rules WHERE expires_at_ms < ?1 LIMIT ?2)`

/** A session deletes its own row. This deletes rows that a late write brought back. */
const deleteSessions = `
  DELETE FROM sessions WHERE id IN (
    SELECT id FROM sessions WHERE kind = 'stateless' AND used_month <= ?1 / ${monthMs} AND used_at_ms < ?1
    UNION ALL
    SELECT id FROM sessions WHERE kind <> 'stateless' AND used_month <= ?2 / ${monthMs} AND used_at_ms < ?2
    LIMIT ?3)
  RETURNING id`

/** A session's own deletion may be that much late. Milliseconds. */
const marginMs = 30 * 86_400_000

/**
 * Deletes expired rows in limited batches; the next sweep goes on. Never throws: a failure is an incident, which the
 * operator's page shows until a sweep succeeds.
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
    /** A single batch suffices: rows that people make are few. */
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
      await tell({ ...about, message: errorMessage(error) }).catch(() => {}) // the operator's object cannot be reached
    }
  }
}

const thereIsMore = () => new Error('There is more than one time can delete: the next goes on.')
