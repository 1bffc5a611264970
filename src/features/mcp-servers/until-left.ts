import type { LinkStore } from './kept-values.ts'

/**
 * A store that reads and writes nothing once it is left, so that a late answer (a renewed token of a removed server,
 * an old listing) undoes nothing.
 */
export function untilLeft(store: LinkStore) {
  let isLeft = false
  return {
    store: {
      get: (key) => (isLeft ? undefined : store.get(key)),
      put: (key, value) => void (isLeft || store.put(key, value)),
      delete: (key) => void (isLeft || store.delete(key)),
    } satisfies LinkStore,
    leave: (): void => void (isLeft = true),
  }
}
