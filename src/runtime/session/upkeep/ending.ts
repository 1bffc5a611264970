import { IsolaError } from '#contracts/errors.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { deleteSession, removeRows, type DeletionParts } from './deletion.ts'

/** Milliseconds between the answer to a deletion and the end of the database. */
const vanishMs = 1_000

/** The end of a session, and of the object that held it. */
export interface Ending {
  /** The session is being deleted, and takes no requests. */
  readonly isDeleting: () => boolean
  /** Whether the object was emptied: everything that its parts remember of the tables is wrong. */
  readonly isGone: () => boolean
  /**
   * Deletes the session, once: a second request meanwhile gets the answer of the first. Throws `request_unavailable`
   * while the session cannot be deleted.
   */
  readonly forget: (principal: string) => Promise<void>
  /** Empties an object without a session, or with the rest of a deleted session. */
  readonly vanish: () => Promise<void>
}

export interface EndingOptions {
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

export function createEnding(options: EndingOptions): Ending {
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
    isDeleting: () => isDeleting || current.parts.store.isClosed(),
    isGone: () => isGone,
    async forget(principal) {
      if (underWay) return underWay
      if (isDeleting || current.parts.store.isClosed()) throw beingDeleted()
      underWay = removed(() => deleteSession(principal, current.parts, runtime))
      await underWay.finally(() => (underWay = undefined))
      later(empty())
      // The job comes back if the object ends before that. If it cannot be stored, the rest is small.
      await current.parts.upkeep.vanishLater().catch(() => {})
    },
    async vanish() {
      if (isDeleting) return
      if (current.parts.store.isClosed()) await removed(() => removeRows(current.parts))
      later(empty())
    },
  }
}
