import type { SessionStore } from './store.ts'
import type { RunRow } from './stored-rows.ts'

/** The run before a place: the place of one that was declined is empty, and of one that cannot be read nothing is known. */
export function runBefore(store: Pick<SessionStore, 'runs'>, order: number): RunRow | undefined {
  for (let place = order - 1; place > 0; place -= 1) {
    const [run] = store.runs(place, place)
    if (run) return run
  }
  return undefined
}

/** In accept order, one at a time: all of them together may be too much for an object. */
export function* everyRun(store: Pick<SessionStore, 'lastOrder' | 'runs'>): Iterable<RunRow> {
  const last = store.lastOrder()
  for (let order = 1; order <= last; order += 1) yield* store.runs(order, order)
}

/** A run that is still to come, behind the last: it says nothing, and goes on from everything. */
export const runToCome = (store: Pick<SessionStore, 'lastOrder'>): RunRow => ({
  id: '',
  order: store.lastOrder() + 1,
  submission: { agent: '', principal: '', messages: [], trace: '' },
  bodyHash: '',
  createdAtMs: 0,
  wakeTurn: 0,
  wakes: 0,
})
