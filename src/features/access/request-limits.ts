import { IsolaError } from '#contracts/errors.ts'
import type { RequestLimits } from './types/request-limits.ts'
import type { Sources } from '#contracts/sources.ts'

const maxChars = 64

/**
 * The network of a request: an IPv4 address, or the /64 of an IPv6 address, since a single line has that many
 * addresses. All requests without an address count as one network.
 */
export function networkOf(address: string | undefined): string {
  const text = (address ?? '').trim().toLowerCase().slice(0, maxChars)
  if (text === '') return 'unknown'
  return text.includes(':') ? `${networkGroups(text).join(':')}::/64` : text
}

/** The first four groups; `::` stands for as many zero groups as are missing to eight. */
function networkGroups(text: string): readonly string[] {
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => part.split(':').filter((group) => group !== '')
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
}

/** The platform's counters. Without such a binding nothing is limited. */
export interface RequestLimitsOptions extends Pick<Sources, 'sha256'> {
  readonly counters: {
    readonly strangers?: RateLimit | undefined
    readonly requests?: RateLimit | undefined
    readonly sessions?: RateLimit | undefined
  }
  /** Tells this deployment from others of the same account: they share the counters' namespaces. */
  readonly operatorKey: string | undefined
  readonly onFault: (error: unknown, requestId?: string) => void
}

/** Window of a binding's counter, and so the longest wait of a client. */
const periodMs = 60_000
/** How many sessions this isolate remembers as counted. */
const maxCounted = 10_000

/**
 * Limits by the platform's own counters: they count in one location each and are not exact, and a refused request
 * stores and costs nothing.
 */
export function createRequestLimits(options: RequestLimitsOptions): RequestLimits {
  const { counters, operatorKey, sha256, onFault } = options
  const counted = new Set<string>()
  const deployment = sha256(operatorKey ?? '').slice(0, 16)
  const take = async (counter: RateLimit | undefined, key: string, message: string) => {
    if (!counter) return
    const asked = counter.limit({ key: `${deployment} ${key}` })
    // If the counter fails, the request is let in: the code behind this has limits of its own.
    const { success } = await asked.catch((error: unknown) => {
      onFault(error)
      return { success: true }
    })
    if (!success) throw new IsolaError('request_rate_limited', message, { retryAfterMs: periodMs })
  }
  return {
    stranger: ({ address }) => take(counters.strangers, networkOf(address), tooManyKeys),
    // The blank keeps this key apart from principals: no principal has one in its name.
    visitor: ({ address }) =>
      take(counters.requests, `visitor ${networkOf(address)}`, tooManyRequests),
    async request({ id, role }) {
      if (role !== 'operator') await take(counters.requests, id, tooManyRequests)
    },
    async newSession({ id, role }, session) {
      if (role === 'operator' || counted.has(session)) return
      await take(counters.sessions, id, tooManySessions)
      if (counted.size >= maxCounted) counted.clear()
      counted.add(session)
    },
  }
}

const tooManyKeys =
  'Too many keys that are not known here came from this address. Try again in a minute.'
const tooManyRequests = 'Too many requests in a minute. Try again later.'
const tooManySessions =
  'Too many sessions were made in a minute. Go on in one that is there, or try again later.'
