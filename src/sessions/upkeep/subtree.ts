import { IsolaError } from '#contracts/errors.ts'
import type { SessionGateway } from '#contracts/session.ts'
import type { LiveRun } from '../runs/runs.ts'
import type { SessionStore } from '../storage/store.ts'
import { childrenOf } from '../log/tree.ts'

/** Waits for the one outcome of a run that was cancelled. One that has not begun ends, unbegun, when it would have begun. */
export async function stopped(live: LiveRun | undefined): Promise<void> {
  if (live?.isStarted()) await live.done.catch(() => {})
}

/** Deletes everything below a session. Throws `request_unavailable` if something had to be kept. */
export async function deleteChildren(
  principal: string,
  store: SessionStore,
  sessions: SessionGateway,
): Promise<void> {
  const replies = await Promise.all(
    childrenOf(store).map((child) => sessions.at(child).delete(principal)),
  )
  const kept = replies.find((reply) => !reply.ok && reply.error.code !== 'request_not_found')
  if (kept && !kept.ok) throw new IsolaError('request_unavailable', kept.error.message)
}
