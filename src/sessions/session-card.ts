import type { SessionCard } from '#contracts/session.ts'
import type { SessionRow, SessionStore } from './store.ts'
import { viewOf, type ViewOptions } from './views.ts'

/** The last run that was accepted. */
const lastRun = (store: SessionStore) => {
  const order = store.lastOrder()
  return order > 0 ? store.runs(order, order)[0] : undefined
}

/** When the last run came in or ended. */
export function lastUsedMs(store: SessionStore, { createdAtMs }: SessionRow): number {
  const last = lastRun(store)
  if (!last) return createdAtMs
  return store.final(last.order)?.finishedAtMs ?? last.createdAtMs
}

/** The session as the list of sessions shows it. */
export function cardOf(session: SessionRow, options: ViewOptions): SessionCard {
  const { store } = options
  const { agent, lineage, isStateless } = session
  const last = lastRun(store)
  return {
    ...(agent !== undefined && { agent }),
    kind: lineage ? 'child' : isStateless ? 'stateless' : 'named',
    usedAtMs: lastUsedMs(store, session),
    runs: store.lastOrder(),
    ...(last && { state: viewOf(last, options).state }),
  }
}
