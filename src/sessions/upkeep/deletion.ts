import { IsolaError } from '#contracts/errors.ts'
import type { SessionRuntime } from '#contracts/runtime.ts'
import type { SessionParts } from '../session-parts.ts'
import { deleteChildren } from './subtree.ts'

/** Forgets everything of a session and below it. Throws `request_unavailable` if something is not over, or not yet known elsewhere. */
export async function deleteSession(
  principal: string,
  { runs, outbox, store, todo, upkeep, courier }: SessionParts,
  { sessions, onSessionEnded }: Pick<SessionRuntime, 'sessions' | 'onSessionEnded'>,
): Promise<void> {
  await runs.cancelAll('The session was deleted.')
  if (!(await outbox.flush())) throw notYetDeletable()
  // Who waits for an outcome of this session would wait for ever.
  await courier.carry()
  if (!courier.isDone()) throw notYetDeletable()
  await deleteChildren(principal, store, sessions)
  // What was spent outlives the session; what the children still had to say of it is in.
  const ended = store.runs().map(({ id }) => upkeep.settle(id))
  await Promise.all(ended).catch(() => Promise.reject(notYetDeletable()))
  const { id: session = '', agent = '', lineage } = store.session() ?? {}
  const rootSession = lineage?.rootSession ?? session
  await onSessionEnded?.({ session, rootSession, principal, agent })
  // Before it is gone: what is on the list and cannot be opened would stay there for ever.
  await outbox.unlist().catch(() => Promise.reject(notYetDeletable()))
  if (!runs.isIdle() || !outbox.isEmpty()) throw notYetDeletable()
  store.drop()
  todo.drop()
  await upkeep.end()
}

const notYetDeletable = () => {
  const message = 'The record of this session could not be saved yet, so it is kept. Try again.'
  return new IsolaError('request_unavailable', message)
}
