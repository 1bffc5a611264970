import { IsolaError } from '#contracts/errors.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { LiveRun } from '../runs/live-runs.ts'
import type { Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { Runs } from '../runs/runs.ts'
import type { Todo } from '../storage/todo.ts'
import type { Courier } from '../waiting/courier.ts'
import type { AuditOutbox } from './audit-outbox.ts'
import type { Upkeep } from './upkeep.ts'

interface ChildrenParts {
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

/** Runs settled side by side: each is read as a whole. */
const settledAtOnce = 8
/** Settled runs between two notes of the progress: after a crash at most so many are settled again. */
const notedEvery = 64
/** A larger database is not dropped in one step, but some rows at a time. */
const atOnceBytes = 8 * 1_048_576

interface DeletionParts extends ChildrenParts {
  readonly todo: Todo
  readonly runs: Runs
  readonly courier: Courier
  readonly outbox: AuditOutbox
  readonly upkeep: Upkeep
}

/**
 * Deletes a session with everything below it, in bounded steps. Throws `request_unavailable` if a run is not over, or
 * if another object could not be reached: the session stays then, and the next attempt does not repeat the finished
 * steps. Once its rows begin to go, the session looks absent, and `removeRows` ends it, also after a crash.
 */
export async function deleteSession(
  principal: string,
  parts: DeletionParts,
  { sessions, onSessionEnded }: SessionRuntime,
): Promise<void> {
  const { runs, outbox, store, upkeep, courier } = parts
  await runs.cancelAll('The session was deleted.')
  if (!(await outbox.flush())) throw notYetDeletable()
  // A session that waits for an outcome of this one would wait for ever.
  await courier.carry()
  if (!courier.isDone()) throw notYetDeletable()
  await deleteChildren(principal, parts, sessions)
  // The day keeps the spending of a deleted session; the children have reported theirs.
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
 * Before its rows go: a listed session that cannot be opened would stay on the list for ever. `isLeaving` is stored
 * before that: no other object knows a session that is off the list and still has its rows.
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

/** Removes the rows of a deleted session. After a crash it goes on where it was. */
export async function removeRows({ store, todo, upkeep, rest }: DeletionParts): Promise<void> {
  while (store.isClosed() && store.removeSome()) await rest()
  store.drop()
  todo.drop()
  await upkeep.end()
}

/** Stores its progress: one wake may not be enough for all runs, and the next attempt goes on there. */
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

/** Milliseconds between the answer to a deletion and the end of the database. */
const vanishMs = 1_000

/** The end of a session, and of the object that held it. */
export type Ending = ReturnType<typeof createEnding>

interface EndingOptions {
  readonly runtime: SessionRuntime
  readonly current: {
    readonly parts: DeletionParts
    /** Requests that wait for an answer of this object. */
    readonly answering: number
  }
  /** The session is deleted: gives it new parts. */
  readonly reopen: () => void
  /** Keeps the object alive for work after its answer. */
  readonly later: (work: Promise<void>) => void
  readonly deleteAll: () => Promise<void>
}

/** The answer to every request while a session is being deleted. */
export const beingDeleted = () =>
  new IsolaError('request_unavailable', 'The session is being deleted: use another one.')

export function createEnding(options: EndingOptions) {
  const { runtime, current, reopen, later, deleteAll } = options
  let isDeleting = false
  let isGone = false
  let underWay: Promise<void> | undefined

  /** An empty database still has tens of kilobytes: it is dropped when no request waits for an answer of the object. */
  const empty = async () => {
    await runtime.clock.sleep(vanishMs)
    const { store, todo } = current.parts
    if (current.answering > 0 || store.session() || store.isClosed() || todo.hasAny()) return
    isGone = true
    await deleteAll()
  }
  const removed = async (work: () => Promise<void>) => {
    isDeleting = true
    try {
      await work()
      reopen()
    } finally {
      isDeleting = false
    }
  }

  return {
    /** The session is being deleted, and takes no requests. */
    isDeleting: () => isDeleting || current.parts.store.isClosed(),
    /** Whether the object was emptied: everything that its parts remember of the tables is wrong. */
    isGone: () => isGone,
    /**
     * Deletes the session, once: a second request meanwhile gets the answer of the first. Throws `request_unavailable`
     * while the session cannot be deleted.
     */
    forget: async (principal: string) => {
      if (underWay) return underWay
      if (isDeleting || current.parts.store.isClosed()) throw beingDeleted()
      underWay = removed(() => deleteSession(principal, current.parts, runtime))
      await underWay.finally(() => (underWay = undefined))
      later(empty())
      // The job comes back if the object ends before that. If it cannot be stored, the rest is small.
      await current.parts.upkeep.vanishLater().catch(() => {})
    },
    /** Empties an object without a session, or with the rest of a deleted session. */
    vanish: async () => {
      if (isDeleting) return
      if (current.parts.store.isClosed()) await removed(() => removeRows(current.parts))
      later(empty())
    },
  }
}
