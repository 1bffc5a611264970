import type { Client } from '@modelcontextprotocol/client'
import { isIdleStream, type createGuardedFetch } from './guarded-fetch.ts'
import { within } from './until-aborted.ts'

const maxWaitMs = 2_000

/**
 * The stream of a session over which a server of 2025-11-25 asks what it does not tie to a request. It is there before
 * something is called: what is asked earlier would be lost.
 */
export function createAskingStream(fetch: ReturnType<typeof createGuardedFetch>) {
  const { promise: isThere, resolve: heard } = Promise.withResolvers<void>()
  return {
    fetch: async (...[url, init]: Parameters<typeof fetch>): Promise<Response> => {
      const answered = fetch(url, init)
      if (init && isIdleStream(init)) answered.then(() => heard(), heard)
      return answered
    },
    /** @param before A session that goes on: the library opens the stream when it says that it is ready. */
    async open(client: Client, before: object | undefined): Promise<void> {
      if (before) await client.notification({ method: 'notifications/initialized' })
      await within(maxWaitMs, () => isThere).catch(() => {})
    },
  }
}
