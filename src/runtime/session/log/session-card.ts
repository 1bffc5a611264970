import type { SessionCard } from '../types/audit-sink.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow, SessionRow } from '../storage/stored-rows.ts'
import { viewOf, type ViewOptions } from './views.ts'

/** The last run that was accepted. */
const lastRun = (store: SessionStore) => {
  const order = store.lastOrder()
  return order > 0 ? store.runs(order, order)[0] : undefined
}

/** When the last run came in or ended. */
export function lastUsedMs(
  store: SessionStore,
  { createdAtMs }: SessionRow,
  last = lastRun(store),
): number {
  if (!last) return createdAtMs
  return store.final(last.order)?.finishedAtMs ?? last.createdAtMs
}

/** A run that cannot be read has no state, and does not hold up the record. */
function stateOf(run: RunRow, options: ViewOptions): SessionCard['state'] {
  try {
    return viewOf(run, options).state
  } catch {
    return undefined
  }
}

export function kindOf({ lineage, isStateless }: Partial<SessionRow> = {}): SessionCard['kind'] {
  if (lineage) return 'child'
  return isStateless ? 'stateless' : 'named'
}

/** The session as the list of sessions shows it. */
export function cardOf(session: SessionRow, options: ViewOptions): SessionCard {
  const { store } = options
  const { agent } = session
  const last = lastRun(store)
  const state = last && stateOf(last, options)
  return {
    ...(agent !== undefined && { agent }),
    kind: kindOf(session),
    usedAtMs: lastUsedMs(store, session, last),
    runs: store.lastOrder(),
    ...(state && { state }),
  }
}
