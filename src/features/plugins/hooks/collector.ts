/** Microtasks: a turn's calls reach their gate in the same one, give or take what a gate before it awaits. */
const momentTicks = 8

/**
 * Gathers what comes in at the same moment from one segment of a run, known by its signal, and has it worked on
 * together. Nothing is held back for what comes later: no timer, no waiting for others.
 *
 * All sessions of an isolate share this. An object that is aborted leaves what it began open for good, so nothing
 * here may outlast it: whoever takes its run up again has another signal.
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
