import { IsolaError } from '#contracts/errors.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { deleteSession, removeRows, type DeletionParts } from './deletion.ts'

/** Between the answer that a session is deleted and the end of its database. */
const vanishMs = 1_000

/** The end of a session, and of the object that held it. */
export interface Ending {
  /** Nothing is taken in any more: the session is being deleted. */
  readonly isDeleting: () => boolean
  /** Whether the object has nothing any more, and what is remembered of its tables holds no more. */
  readonly isGone: () => boolean
  /**
   * Deletes the session, once: whoever asks again meanwhile is answered with what comes of it. Throws
   * `request_unavailable` while that cannot be.
   */
  readonly forget: (principal: string) => Promise<void>
  /** Nothing is kept here, or only what is being removed: the object goes as a whole. */
  readonly vanish: () => Promise<void>
}

export interface EndingOptions {
  readonly runtime: SessionRuntime
  readonly parts: () => DeletionParts
  /** The session is gone: makes the parts anew. */
  readonly reopen: () => void
  /** Somebody waits for an answer of this object. */
  readonly isAsked: () => boolean
  /** Works on after whoever asked has gone. */
  readonly later: (work: Promise<void>) => void
  readonly deleteAll: () => Promise<void>
}

/** What comes for a session while it goes. */
export const beingDeleted = () =>
  new IsolaError('request_unavailable', 'The session is being deleted: use another one.')

export function createEnding(options: EndingOptions): Ending {
  const { runtime, parts, reopen, isAsked, later, deleteAll } = options
  let isDeleting = false
  let isGone = false
  let underWay: Promise<void> | undefined

  /** An empty database is still tens of kilobytes: once nobody waits for an answer here, the object goes as a whole. */
  const empty = async () => {
    await runtime.clock.sleep(vanishMs)
    const { store, todo } = parts()
    if (isAsked() || store.session() || store.isClosed() || todo.hasAny()) return
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
    isDeleting: () => isDeleting || parts().store.isClosed(),
    isGone: () => isGone,
    async forget(principal) {
      if (underWay) return underWay
      if (isDeleting || parts().store.isClosed()) throw beingDeleted()
      underWay = removed(() => deleteSession(principal, parts(), runtime))
      await underWay.finally(() => (underWay = undefined))
      later(empty())
      // What ends before that comes back for it. If that cannot be stored, the rest is small.
      await parts()
        .upkeep.vanishLater()
        .catch(() => {})
    },
    async vanish() {
      if (isDeleting) return
      if (parts().store.isClosed()) await removed(() => removeRows(parts()))
      later(empty())
    },
  }
}
