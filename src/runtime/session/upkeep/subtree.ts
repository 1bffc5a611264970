import { IsolaError } from '#contracts/errors.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { LiveRun } from '../runs/live-runs.ts'
import type { Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'

export interface ChildrenParts {
  readonly store: SessionStore
  readonly children: Children
  /** Between two steps of long work: others have the object. */
  readonly rest: () => Promise<void>
}

const deletedAtOnce = 16
/** Runs whose turns are searched for children in one step. */
const searchedAtOnce = 128

/** Waits for the outcome of a cancelled run. A queued run is not waited for: it ends when its turn comes. */
export async function stopped(live: LiveRun | undefined): Promise<void> {
  if (live?.isStarted) await live.done.catch(() => {})
}

/**
 * Deletes everything below a session, a few children at a time, and forgets each deleted child. Throws
 * `request_unavailable` if a child could not be deleted.
 */
export async function deleteChildren(
  principal: string,
  { store, children, rest }: ChildrenParts,
  sessions: SessionGateway,
): Promise<void> {
  const last = store.lastOrder()
  for (let from = 1; from <= last;) {
    const next = children.ofRuns(from, from + searchedAtOnce - 1, deletedAtOnce)
    if (!next[0]) {
      from += searchedAtOnce
      await rest()
      continue
    }
    from = next[0].order // no child is left before it
    const deleted = await Promise.allSettled(
      next.map(async ({ session }) => {
        const reply = await sessions.at(session).delete(principal)
        if (!reply.ok && reply.error.code !== 'request_not_found')
          throw new IsolaError('request_unavailable', reply.error.message)
      }),
    )
    // One call for all of them: it rewrites the row of each turn, which may be large.
    children.remove(next.filter((_child, index) => deleted[index]?.status === 'fulfilled'))
    const kept = deleted.find((one) => one.status === 'rejected')
    if (kept) throw kept.reason
    await rest()
  }
}
