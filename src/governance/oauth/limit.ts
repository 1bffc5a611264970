import { IsolaError } from '#contracts/errors.ts'
import type { Client } from '#contracts/operations.ts'
import type { PrincipalRates } from '#contracts/principal.ts'

/** So many in a minute: of one network, and of all. */
const most = {
  pages: [30, 1_000],
  answers: [60, 1_000],
  clients: [10, 100],
  documents: [60, 1_000],
} as const
/** No principal can be called so. */
const counter = 'oauth limits'

/** Pages and clients are written down, and addresses asked, before anybody signed in: a stranger must not have it done at will. */
export type Limit = (what: keyof typeof most, client: Client) => Promise<void>

/**
 * Counts what strangers do by their network and of all together. Throws `request_queue_full` with how long to wait.
 */
export function createLimit(
  takeRate: PrincipalRates['takeRate'],
  networkOf: (address: string | undefined) => string,
): Limit {
  return async (what, client) => {
    const [one, all] = most[what]
    const rules = [
      { key: `${what} ${networkOf(client.address)}`, most: one },
      { key: what, most: all },
    ]
    const { retryAfterMs } = await takeRate(counter, { call: client.requestId ?? '', rules })
    if (retryAfterMs === undefined) return
    const message = 'Too many sign-ins were begun from here. Try again in a minute.'
    throw new IsolaError('request_queue_full', message, { retryAfterMs })
  }
}
