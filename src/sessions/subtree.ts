import { IsolaError } from '#contracts/errors.ts'
import type { SessionGateway } from '#contracts/session.ts'
import type { LiveRun } from './runs.ts'
import type { RunRow, SessionStore } from './store.ts'
import { childrenOf } from './tree.ts'

/** Cancels a run and waits for its one outcome. One that has not begun ends, unbegun, when it would have begun. */
export async function stop(live: LiveRun | undefined, reason: string): Promise<void> {
  live?.cancel(reason)
  if (live?.isStarted()) await live.done.catch(() => {})
}

/** Cancels all runs, the waiting ones first of all, and waits until each has its outcome. */
export async function stopAll(runs: readonly LiveRun[], reason: string): Promise<void> {
  for (const live of runs) live.cancel(reason)
  await Promise.allSettled(runs.map((live) => live.done))
}

/**
 * Tells the children of a run that ended otherwise than completed: after a crash nobody else would. One that is
 * over already takes no notice.
 */
export function cancelChildren(run: RunRow, store: SessionStore, sessions: SessionGateway): void {
  const events = store.turns(run.order).flatMap((turn) => turn.events)
  const over = new Set(
    events.flatMap(({ type, data }) => (type === 'agent_result' ? [data['session']] : [])),
  )
  for (const { type, data } of events) {
    if (type !== 'agent_invoked' || over.has(data['session'])) continue
    // A child that cannot be reached now is bounded by its own lease.
    sessions
      .at(String(data['session']))
      .cancelCall(run.id, String(data['call']), 'The run that asked for it has ended.')
      .catch(() => {})
  }
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
