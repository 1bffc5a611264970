import { IsolaError } from '#contracts/errors.ts'
import type { RequestClient } from '#contracts/operations.ts'
import type { PrincipalRates, RateRequest } from '#runtime/session/types/principal.ts'

/**
 * How many in a minute: reserved for one network whatever others do, for one network while there is room, and for all
 * networks beyond their reserves. No network can use up the reserve of another.
 */
const most = {
  pages: [10, 30, 1_000],
  answers: [20, 60, 1_000],
  clients: [3, 10, 100],
  documents: [20, 60, 1_000],
} as const
/** A name that no principal can have. */
const counter = 'oauth limits'

/** Pages, clients and lookups of addresses cost work before a sign-in: a stranger must not cause it without limit. */
export type Limit = (what: keyof typeof most, client: RequestClient) => Promise<void>

/**
 * Counts the requests of strangers by network and in total. Throws `request_queue_full` with how long to wait.
 */
export function createLimit(
  takeRate: PrincipalRates['takeRate'],
  networkOf: (address: string | undefined) => string,
): Limit {
  return async (what, client) => {
    const [own, one, all] = most[what]
    const network = networkOf(client.address)
    const take = (...rules: RateRequest['rules']) =>
      takeRate(counter, { call: client.requestId ?? '', rules })
    const ofItsOwn = await take({ key: `${what} own ${network}`, most: own })
    if (ofItsOwn.retryAfterMs === undefined) return
    const { retryAfterMs } = await take(
      { key: `${what} ${network}`, most: one - own },
      { key: what, most: all },
    )
    if (retryAfterMs === undefined) return
    throw new IsolaError(
      'request_queue_full',
      'Too many sign-ins were begun from here. Try again in a minute.',
      { retryAfterMs },
    )
  }
}
