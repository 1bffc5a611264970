import { defined } from '#contracts/defined.ts'
import type { AuditSink } from '#runtime/session/types/audit-sink.ts'
import { forgetApprovals, mirrorApprovals } from '#features/approvals/store/approval-mirror.ts'
import { billedBy, type Database } from '#platform/d1/database.ts'
import { createDeploymentCount, type DeploymentCount } from './deployment-count.ts'
import { listGivenUp } from './given-up-runs.ts'
import { askKnown, toChunks, writeChunk } from './record-rows.ts'
import { failIfWanted } from '#features/schedules/store/schedules.ts'
import { listSession, unlistSession } from './session-index.ts'

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
      const batch = database.batch([
        ...failIfWanted(database, unheard),
        writeChunk(database, owner, { ...chunk, others }),
        ...listGivenUp(database, owner, chunkEvents),
        ...mirrorApprovals(database, owner, chunkEvents),
        ...listSession(database, owner, { card, seq: chunk.lastSeq }),
        askKnown(database, owner),
      ])
      const results = await batch.catch(back)
      counted(billedBy(results))
      const known = Number(results.at(-1)?.results[0]?.['seq'] ?? 0)
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
