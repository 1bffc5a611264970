import { errorCode } from '#contracts/errors.ts'
import type { KeyStore } from './types/keys.ts'
import type { OwnLimits } from '#contracts/keys.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'
import type { Clock } from '#contracts/sources.ts'

/** Limits that the request's key brought are fresh for so long: its run needs no second lookup. */
const freshMs = 5_000

/** Where a principal's daily limits come from. */
export interface LimitsOfOptions {
  /**
   * The deployment's limits, for dimensions without a limit of the principal's own. May throw if the settings are
   * wrong.
   */
  readonly defaults: () => DayAmount
  readonly keys: Pick<KeyStore, 'rightsOf'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/** A principal's daily limits as of now. May throw: then no run may spend anything. */
export type LimitsOf = (principal: string, known?: OwnLimits) => DayAmount | Promise<DayAmount>

/**
 * A principal's limits as of now, not as of the request: a run that waited, or is retried days later, is held to
 * today's limits. Limits read less than `freshMs` ago are used as they are, so that the run of a fresh request makes
 * no query. While the database is away the known limits apply, so that running work goes on.
 *
 * The operator has no row in the table: its limits are the deployment's.
 */
export function createLimitsOf({ defaults, keys, clock }: LimitsOfOptions): LimitsOf {
  const withDefaults = ({ tokens, costNanoUsd }: Partial<DayAmount> = {}): DayAmount => {
    const all = defaults()
    return { tokens: tokens ?? all.tokens, costNanoUsd: costNanoUsd ?? all.costNanoUsd }
  }
  return (principal, known) => {
    if (principal === 'operator') return withDefaults()
    if (known && isFresh(known, clock.nowMs())) return withDefaults(known)
    return keys.rightsOf(principal).then(
      (rights) => withDefaults(rights?.limits),
      (error: unknown) => {
        if (known && errorCode(error) === 'request_unavailable') return withDefaults(known)
        throw error
      },
    )
  }
}

/** False after a clock was set back: the age of the limits is unknown then. */
const isFresh = ({ asOfMs }: OwnLimits, nowMs: number) =>
  nowMs >= asOfMs && nowMs - asOfMs < freshMs
