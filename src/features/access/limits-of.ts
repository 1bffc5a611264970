import { errorCode } from '#contracts/errors.ts'
import type { KeyStore } from './types/keys.ts'
import type { OwnLimits } from '#contracts/own-limits.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'
import type { Clock } from '#contracts/sources.ts'

/** What was read with the key of a request is good for the run that it starts. */
const freshMs = 5_000

/** Where the limits of a principal's day come from. */
export interface LimitsOfOptions {
  /** What the deployment sets, for what a principal has no limit of its own. May throw if the settings are wrong. */
  readonly defaults: () => DayAmount
  readonly keys: Pick<KeyStore, 'rightsOf'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/** What a principal may spend in a day, now. May throw: then nothing is to be spent. */
export type LimitsOf = (principal: string, known?: OwnLimits) => DayAmount | Promise<DayAmount>

/**
 * The limits of a principal as they are when they are needed, not as they were when a run was asked for: one that
 * waited, or is retried days later, is held to today's. Only what was read a moment ago is taken as it is, so that
 * the run of a fresh request asks nobody. With the database away what is known holds: running work goes on.
 *
 * The operator key has no row: its day is what the deployment sets.
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

/** Of a clock that went back it cannot be said. */
const isFresh = ({ asOfMs }: OwnLimits, nowMs: number) =>
  nowMs >= asOfMs && nowMs - asOfMs < freshMs
