import { IsolaError } from '#contracts/errors.ts'
import type { Client } from '#contracts/operations.ts'
import type { PrincipalRates, RateRequest } from '#runtime/session/types/principal.ts'

/**
 * So many in a minute: of one network whatever others do, of one network where there is room, and of all beyond what each
 * has for itself. Nobody can use up what is somebody else's.
 */
const most = {
  pages: [10, 30, 1_000],
  answers: [20, 60, 1_000],
  clients: [3, 10, 100],
  documents: [20, 60, 1_000],
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
    const message = 'Too many sign-ins were begun from here. Try again in a minute.'
    throw new IsolaError('request_queue_full', message, { retryAfterMs })
  }
}
