import { IsolaError } from '#contracts/errors.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { LiveRun } from '../runs/live-run.ts'
import type { Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'

export interface ChildrenParts {
  readonly store: SessionStore
  readonly children: Children
  /** Between two steps of long work: others have the object. */
  readonly rest: () => Promise<void>
}

const deletedAtOnce = 16
/** Runs whose turns are looked through for children at once: of a long session, not all. */
const searchedAtOnce = 128

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
