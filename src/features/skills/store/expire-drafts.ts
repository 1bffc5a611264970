import { deploymentEvent } from '#contracts/event.ts'
import type { Database } from '#platform/d1/database.ts'
import { removal } from './skill-drafts.ts'

const dayMs = 86_400_000
const batchDrafts = 25

/**
 * Deletes drafts that no operator promoted and no agent wrote again since `beforeMs`, each with an event on the
 * record; and the daily counts of days that are over.
 */
export async function expireDrafts(
  database: Database,
  { beforeMs, nowMs }: { readonly beforeMs: number; readonly nowMs: number },
): Promise<void> {
  const isOld = `state = 'open' AND last_at_ms < ${Math.floor(beforeMs)}`
  const select = `SELECT id, name, hash, last_at_ms AS lastAtMs FROM skill_drafts WHERE ${isOld} LIMIT ${batchDrafts}`
  for (;;) {
    const { results } = await database.prepare(select).all<{
      readonly id: string
      readonly name: string
      readonly hash: string
      readonly lastAtMs: number
    }>()
    if (results.length === 0) break
    const place = { principal: '', trace: '', atMs: nowMs }
    const statements = results.flatMap(({ id, ...about }) => {
      const event = deploymentEvent('skill_draft_expired', place, { draft: id, ...about })
      return removal(database, { id, event, only: isOld })
    })
    await database.batch(statements)
  }
  await database
    .prepare(`DELETE FROM skill_draft_writings WHERE draft = '' AND at_ms < ?1`)
    .bind(nowMs - 2 * dayMs)
    .run()
}
