import type { Client } from '@modelcontextprotocol/client'
import { isIdleStream, type createGuardedFetch } from './guarded-fetch.ts'
import { within } from './until-aborted.ts'

const maxWaitMs = 2_000
/** So soon what the library sends of itself, such as a cancel, is on its way. */
const settleMs = 50

/**
 * The stream of a session over which a server of 2025-11-25 asks questions that it does not tie to a request. It must
 * be open before the first call: the server's earlier questions would be lost. It ends with the connection.
 */
export function createAskingStream(fetch: ReturnType<typeof createGuardedFetch>) {
  const { promise: isThere, resolve: heard } = Promise.withResolvers<void>()
  const sending = new Set<Promise<unknown>>()
  const watch = (sent: Promise<unknown>): void => {
    const done = sent.then(
      () => {},
      () => {},
    )
    sending.add(done)
    void done.then(() => sending.delete(done))
  }
  return {
    fetch: async (...[url, init]: Parameters<typeof fetch>): Promise<Response> => {
      if (init && isIdleStream(init)) return openOnce(() => fetch(url, init)).finally(heard)
      const answered = fetch(url, init)
      if (isNotice(init)) watch(answered)
      return answered
    },
    /** @param before A session that goes on: the library opens the stream when it says that it is ready. */
    async open(client: Client, before: object | undefined): Promise<void> {
      if (before) await client.notification({ method: 'notifications/initialized' })
      await within(maxWaitMs, () => isThere).catch(() => {})
    },
    /** Waits until sent messages, such as a cancel, have arrived; not for long. */
    async settled(): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, settleMs))
      await within(maxWaitMs, () => Promise.all(sending)).catch(() => {})
    },
  }
}

/** A server takes one such stream of a session, and may not have noticed yet that the one before ended. */
async function openOnce(open: () => Promise<Response>, tries = 10): Promise<Response> {
  const response = await open()
  if (response.status !== 409 || tries === 0) return response
  await response.body?.cancel()
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  return openOnce(open, tries - 1)
}

/** A message that expects no answer; the answer to a call can take long. */
const isNotice = (init: RequestInit | undefined): boolean =>
  typeof init?.body === 'string' && init.body.includes('"method":"notifications/')
