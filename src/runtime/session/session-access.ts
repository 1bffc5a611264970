import type { SessionRuntime } from './types/runtime.ts'
import type { RunView } from './types/run-view.ts'
import { viewOf, type ViewOptions } from './log/views.ts'
import type { SessionParts } from './session-parts.ts'
import { noSuchRun, noSuchSession } from './storage/refusals.ts'
import type { RunRow, SessionRow } from './storage/stored-rows.ts'
import { beingDeleted } from './upkeep/ending.ts'

/** The state of a session's object: its parts are replaced when the session is deleted. */
export interface CurrentSession {
  parts: SessionParts
  /** Requests that wait for an answer of the object. */
  answering: number
}

export interface SessionAccessOptions {
  readonly runtime: SessionRuntime
  /** The session; its id is empty until the first request names it. */
  readonly identity: { id: string }
  readonly current: { readonly parts: SessionParts }
  readonly isDeleting: () => boolean
  readonly sync: () => Promise<void>
}

/** Checks and lookups for everything that answers requests to a session. */
export interface SessionAccess extends Omit<SessionAccessOptions, 'sync'> {
  readonly refuseWhileDeleting: () => void
  /** The session, if it is this principal's. An absent session and another principal's session look alike. */
  readonly own: (principal: string) => SessionRow
  readonly row: (run: string) => RunRow
  readonly view: (run: string) => RunView
  readonly viewOptions: () => ViewOptions
  /** Waits until the log is durable, including events that are written while it waits: an answer with an id needs that. */
  readonly synced: () => Promise<void>
}

export function createSessionAccess({ sync, ...options }: SessionAccessOptions): SessionAccess {
  const { runtime, identity, current, isDeleting } = options
  const viewOptions = (): ViewOptions => ({ ...current.parts, runtime, session: identity.id })
  const row = (run: string): RunRow => {
    const found = current.parts.store.findRun(run)
    if (!found) throw noSuchRun()
    return found
  }
  return {
    ...options,
    row,
    viewOptions,
    view: (run) => viewOf(row(run), viewOptions()),
    refuseWhileDeleting() {
      if (isDeleting()) throw beingDeleted()
    },
    own(principal) {
      const session = current.parts.store.session()
      if (!session || session.principal !== principal) {
        throw noSuchSession()
      }
      return session
    },
    async synced() {
      const { store } = current.parts
      for (let seq = -1; seq !== store.lastSeq();) {
        seq = store.lastSeq()
        await sync()
      }
    },
  }
}
