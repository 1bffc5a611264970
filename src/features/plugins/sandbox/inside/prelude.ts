import { AsyncLocalStorage } from 'node:async_hooks'

type Fetch = typeof globalThis.fetch

/**
 * Loaded before the plugin: global `fetch` becomes that of the call it is made in, so that libraries work. A
 * convenience: what keeps a plugin off the network is that its isolate has none.
 */
const current = new AsyncLocalStorage<() => Fetch>()

/** Runs one call with this as its global `fetch`. */
export const withFetch = <T>(fetch: () => Fetch, work: () => T): T => current.run(fetch, work)

globalThis.fetch = async (input, init) => {
  const fetch = current.getStore()
  if (!fetch) throw new TypeError('There is no network outside of a call.')
  return fetch()(input, init)
}
