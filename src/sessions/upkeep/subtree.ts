import { IsolaError } from '#contracts/errors.ts'
import type { SessionGateway } from '#contracts/session-api.ts'
import type { LiveRun } from '../runs/runs.ts'
import type { ChildrenParts } from '../log/older-children.ts'

const deletedAtOnce = 16

/** Waits for the one outcome of a run that was cancelled. One that has not begun ends, unbegun, when it would have begun. */
export async function stopped(live: LiveRun | undefined): Promise<void> {
  if (live?.isStarted()) await live.done.catch(() => {})
}

/**
 * Deletes everything below a session, a few children at a time; each is forgotten when it is gone. Throws
 * `request_unavailable` if something had to be kept.
 */
export async function deleteChildren(
  principal: string,
  { children, rest }: Pick<ChildrenParts, 'children' | 'rest'>,
  sessions: SessionGateway,
): Promise<void> {
  for (let from = 1; ;) {
    const next = children.ofRuns(from, Number.MAX_SAFE_INTEGER, deletedAtOnce)
    if (!next[0]) return
    from = next[0].order // none is left before it
    const deleted = await Promise.allSettled(
      next.map(async ({ session }) => {
        const reply = await sessions.at(session).delete(principal)
        if (!reply.ok && reply.error.code !== 'request_not_found')
          throw new IsolaError('request_unavailable', reply.error.message)
      }),
    )
    // Once for all of them: each turn's row, which may be large, is written anew.
    children.remove(next.filter((_child, index) => deleted[index]?.status === 'fulfilled'))
    const kept = deleted.find((one) => one.status === 'rejected')
    if (kept) throw kept.reason
    await rest()
  }
}
