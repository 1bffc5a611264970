/** Microtasks: a turn's calls reach their gate in the same one, give or take what a gate before it awaits. */
const momentTicks = 8

/**
 * Gathers what comes in at the same moment under one key, and has it worked on together. Nothing is held back for
 * what comes later: no timer, no waiting for others.
 */
export function createCollector<T, R>(work: (items: readonly T[]) => Promise<readonly R[]>) {
  const open = new Map<string, { readonly items: T[]; readonly done: Promise<readonly R[]> }>()
  const begin = (key: string) => {
    const items: T[] = []
    const done = moment().then(() => {
      open.delete(key)
      return work(items)
    })
    const batch = { items, done }
    open.set(key, batch)
    return batch
  }
  return async (key: string, item: T): Promise<R> => {
    const { items, done } = open.get(key) ?? begin(key)
    const place = items.push(item) - 1
    return (await done)[place]!
  }
}

async function moment(): Promise<void> {
  for (let tick = 0; tick < momentTicks; tick += 1) await Promise.resolve()
}
