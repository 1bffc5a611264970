/** In microtasks. The calls of a turn reach their gate together, except for awaits in the gates before it. */
const momentTicks = 8

/**
 * Gathers items that arrive at the same moment from one segment of a run (known by its signal), and works on them
 * together. Nothing waits for later items: no timer.
 *
 * All sessions of an isolate share this. An aborted object leaves its promises open for good, so nothing here may
 * outlive its segment: a resumed run has another signal.
 */
export function createCollector<T, R>(work: (items: readonly T[]) => Promise<readonly R[]>) {
  const open = new WeakMap<
    AbortSignal,
    { readonly items: T[]; readonly done: Promise<readonly R[]> }
  >()
  const begin = (key: AbortSignal) => {
    const items: T[] = []
    const done = moment().then(() => {
      open.delete(key)
      return work(items)
    })
    const batch = { items, done }
    open.set(key, batch)
    return batch
  }
  return async (key: AbortSignal, item: T): Promise<R> => {
    const { items, done } = open.get(key) ?? begin(key)
    const place = items.push(item) - 1
    return (await done)[place]!
  }
}

async function moment(): Promise<void> {
  for (let tick = 0; tick < momentTicks; tick += 1) await Promise.resolve()
}
