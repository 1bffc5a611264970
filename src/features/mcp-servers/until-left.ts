import type { LinkStore } from './kept-values.ts'

/**
 * A store that has nothing and takes nothing once it is left. What comes back late (a token that was renewed while its
 * server was removed, a list that was asked for before) undoes nothing then.
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
