import { AsyncLocalStorage } from 'node:async_hooks'

type Fetch = typeof globalThis.fetch

/**
 * Loaded before the plugin: makes the global `fetch` that of the present call, so that libraries work. This is a
 * convenience, not a guard: the isolate has no network of its own.
 */
const current = new AsyncLocalStorage<() => Fetch>()

/** Runs one call with this global `fetch`. */
export const withFetch = <T>(fetch: () => Fetch, work: () => T): T => current.run(fetch, work)

globalThis.fetch = async (input, init) => {
  const fetch = current.getStore()
  if (!fetch) throw new TypeError('There is no network outside of a call.')
  return fetch()(input, init)
}
