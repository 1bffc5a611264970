import { IsolaError } from '#contracts/errors.ts'
import type { PluginQuota, PluginUsage } from '../types/plugin-catalog.ts'

const hourMs = 3_600_000
const mib = 1024 * 1024
/** An operator's quota, in multiples of an author's. */
const operatorTimes = 50

/** The moment from which additions count for the hour. */
export const sinceFor = (nowMs: number): number => nowMs - hourMs

/** The bundle that a principal is about to add. */
export interface Bringing {
  /** The bundle's size as UTF-8; 0 if it is stored already. */
  readonly sizeBytes: number
  readonly isKept: boolean
  readonly isOperator: boolean
  readonly nowMs: number
}

/**
 * Refuses a bundle beyond its author's quota.
 *
 * @throws `request_rate_limited` with when to try again, or `request_insufficient_quota`; each names the limit, its
 *   setting and the way on.
 */
export function checkQuota(
  quota: PluginQuota,
  { versions, bytes, adds, firstAddAtMs }: PluginUsage,
  { sizeBytes, isKept, isOperator, nowMs }: Bringing,
): void {
  const times = isOperator ? operatorTimes : 1
  const who = isOperator ? 'an operator' : 'an author'
  const raise = (setting: string): string =>
    `raise ${setting}${isOperator ? ` (an operator has ${operatorTimes} times what it says)` : ''}`
  const maxAdds = quota.maxAddsPerHour * times
  if (adds >= maxAdds) {
    const retryAfterMs = Math.max(0, (firstAddAtMs ?? nowMs) + hourMs - nowMs)
    const message =
      `${who} may add ${maxAdds} versions of plugins in an hour, and you have. Try again in ` +
      `${Math.ceil(retryAfterMs / 60_000)} minutes, or have an operator ${raise('ISOLA_AUTHOR_ADDS_PER_HOUR')}.`
    throw new IsolaError('request_rate_limited', capital(message), { retryAfterMs })
  }
  if (isKept) return
  const way = (setting: string) =>
    'A version counts until nobody can need it any more (ISOLA_KEEP_VERSIONS_DAYS). Wait for that, have an ' +
    `operator add this one, or ${raise(setting)}.`
  const maxVersions = quota.maxVersions * times
  if (versions >= maxVersions) {
    const message = `${who} may have ${maxVersions} versions of plugins kept, and you have ${versions}.`
    throw full(`${capital(message)} ${way('ISOLA_AUTHOR_VERSIONS')}`)
  }
  const maxBytes = quota.maxBytes * times
  if (bytes + sizeBytes > maxBytes) {
    const message =
      `${who} may have ${maxBytes / mib} MiB of bundles kept, and with this one you would have ` +
      `${((bytes + sizeBytes) / mib).toFixed(1)} MiB.`
    throw full(`${capital(message)} ${way('ISOLA_AUTHOR_MIB')}`)
  }
}

const full = (message: string) => new IsolaError('request_insufficient_quota', message)
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
