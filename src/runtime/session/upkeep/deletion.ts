import { IsolaError } from '#contracts/errors.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { Runs } from '../runs/runs.ts'
import type { Todo } from '../storage/todo.ts'
import type { Courier } from '../waiting/courier.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import { deleteChildren, type ChildrenParts } from './subtree.ts'
import type { Upkeep } from './upkeep.ts'

/** Runs whose spending is told at once: each is read as a whole. */
const settledAtOnce = 8
/** An object that ends without a word goes through so many of them again. */
const notedEvery = 64
/** A database up to this size is dropped in one go; of a larger one some rows at a time. */
const atOnceBytes = 8 * 1_048_576

export interface DeletionParts extends ChildrenParts {
  readonly todo: Todo
  readonly runs: Runs
  readonly courier: Courier
  readonly outbox: AuditOutbox
  readonly upkeep: Upkeep
}

/**
 * Forgets everything of a session and below it, in bounded steps. Throws `request_unavailable` if something is not
 * over, or not yet known elsewhere: the session is kept then, and what was done of it is not done again. Once its rows
 * begin to go, it looks absent, and `removeRows` ends it, also after a crash.
 */
export async function deleteSession(
  principal: string,
  parts: DeletionParts,
  { sessions, onSessionEnded }: Pick<SessionRuntime, 'sessions' | 'onSessionEnded'>,
): Promise<void> {
  const { runs, outbox, store, upkeep, courier } = parts
  await runs.cancelAll('The session was deleted.')
  if (!(await outbox.flush())) throw notYetDeletable()
  // Who waits for an outcome of this session would wait for ever.
  await courier.carry()
  if (!courier.isDone()) throw notYetDeletable()
  await deleteChildren(principal, parts, sessions)
  // What was spent outlives the session; what the children still had to say of it is in.
  await settleAll(parts).catch(() => Promise.reject(notYetDeletable()))
  const { id: session = '', agent = '', lineage } = store.session() ?? {}
  const rootSession = lineage?.rootSession ?? session
  await onSessionEnded?.({ session, rootSession, shared: lineage?.shared, principal, agent })
  await leaveList(parts)
  if (!runs.isIdle() || !outbox.isEmpty()) throw notYetDeletable()
  if (store.sizeBytes() > atOnceBytes) {
    await upkeep.vanishLater()
    store.close()
  }
  await removeRows(parts)
}

/**
 * Before it is gone: what is on the list and cannot be opened would stay there for ever. That it leaves is stored before
 * that: what is off the list and not gone is known to nobody else.
 */
async function leaveList({ store, outbox, upkeep }: DeletionParts): Promise<void> {
  const session = store.session()
  if (!session) return
  store.writeSession({ ...session, isLeaving: true })
  try {
    await upkeep.leaveLater()
    await outbox.unlist()
  } catch {
    const { isLeaving: _stays, ...kept } = store.session() ?? session
    store.writeSession(kept)
    throw notYetDeletable()
  }
}

/** Removes what is left of a session that is deleted. Begun again after a crash, it goes on where it was. */
export async function removeRows({ store, todo, upkeep, rest }: DeletionParts): Promise<void> {
  while (store.isClosed() && store.removeSome()) await rest()
  store.drop()
  todo.drop()
  await upkeep.end()
}

/** How far it came is stored: with more runs than one wake may ask others about, the next attempt goes on there. */
async function settleAll({ store, todo, upkeep, rest }: DeletionParts): Promise<void> {
  const last = store.lastOrder()
  for (let to = todo.settledUpTo(); to < last;) {
    const from = to + 1
    to = Math.min(to + settledAtOnce, last)
    try {
      await Promise.all(store.runs(from, to).map((row) => upkeep.settle(row)))
    } catch (error) {
      if (from > 1) todo.noteSettled(from - 1)
      throw error
    }
    if (to < last && to % notedEvery === 0) todo.noteSettled(to)
    await rest()
  }
}

const notYetDeletable = () => {
  const message = 'The record of this session could not be saved yet, so it is kept. Try again.'
  return new IsolaError('request_unavailable', message)
}
