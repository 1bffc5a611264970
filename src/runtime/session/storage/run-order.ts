import type { SessionStore } from './store.ts'
import type { RunRow } from './stored-rows.ts'

/** The run before an order: the order of a declined run is empty, and a run that cannot be read is skipped. */
export function runBefore(store: Pick<SessionStore, 'runs'>, order: number): RunRow | undefined {
  for (let place = order - 1; place > 0; place -= 1) {
    const [run] = store.runs(place, place)
    if (run) return run
  }
  return undefined
}

/** All runs in accept order, read one at a time: together they may be too much for the object's memory. */
export function* everyRun(store: Pick<SessionStore, 'lastOrder' | 'runs'>): Iterable<RunRow> {
  const last = store.lastOrder()
  for (let order = 1; order <= last; order += 1) yield* store.runs(order, order)
}

/** A run after the last one, without messages, that goes on from the whole conversation. */
export const runToCome = (store: Pick<SessionStore, 'lastOrder'>): RunRow => ({
  id: '',
  order: store.lastOrder() + 1,
  submission: { agent: '', principal: '', messages: [], trace: '' },
  bodyHash: '',
  createdAtMs: 0,
  wakeTurn: 0,
  wakes: 0,
})
