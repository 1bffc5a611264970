import type { SessionRuntime } from './types/runtime.ts'
import type { RunView } from './types/run-view.ts'
import { viewOf, type ViewOptions } from './log/views.ts'
import { beingDeleted } from './upkeep/ending.ts'
import { noSuchRun, noSuchSession } from './storage/not-found.ts'
import type { SessionParts } from './session-parts.ts'
import type { RunRow, SessionRow } from './storage/stored-rows.ts'

/** One session's object as those see it who answer for it: its parts are made anew when the session is deleted. */
export interface Scope {
  readonly runtime: SessionRuntime
  readonly parts: () => SessionParts
  readonly id: () => string
  readonly isDeleting: () => boolean
  readonly refuseWhileDeleting: () => void
  /** The session, if it is this principal's; an absent one and another's look alike. */
  readonly own: (principal: string) => SessionRow
  readonly row: (run: string) => RunRow
  readonly view: (run: string) => RunView
  readonly viewOptions: () => ViewOptions
  /** What is sent with an id must be durable, also what was written while we waited for that. */
  readonly synced: () => Promise<void>
}

export interface ScopeOptions {
  readonly runtime: SessionRuntime
  readonly parts: () => SessionParts
  readonly id: () => string
  readonly isDeleting: () => boolean
  readonly sync: () => Promise<void>
}

export function createScope({ runtime, parts, id, isDeleting, sync }: ScopeOptions): Scope {
  const viewOptions = (): ViewOptions => ({ ...parts(), runtime, session: id() })
  const row = (run: string): RunRow => {
    const found = parts().store.findRun(run)
    if (!found) throw noSuchRun()
    return found
  }
  return {
    runtime,
    parts,
    id,
    isDeleting,
    row,
    viewOptions,
    view: (run) => viewOf(row(run), viewOptions()),
    refuseWhileDeleting() {
      if (isDeleting()) throw beingDeleted()
    },
    own(principal) {
      const session = parts().store.session()
      if (!session || session.principal !== principal) {
        throw noSuchSession()
      }
      return session
    },
    async synced() {
      const { store } = parts()
      for (let seq = -1; seq !== store.lastSeq();) {
        seq = store.lastSeq()
        await sync()
      }
    },
  }
}
