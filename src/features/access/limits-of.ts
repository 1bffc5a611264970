import * as z from 'zod'
import { errorCode } from '#contracts/errors.ts'
import { type KeyStore, stateOf } from './types/keys.ts'
import type { OwnLimits } from '#contracts/keys.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'
import type { Clock } from '#contracts/sources.ts'
import { unlimited } from '#contracts/lease.ts'

/**
 * Two settings limit a day: `ISOLA_DAILY_TOKENS`, a whole number, and `ISOLA_DAILY_COST_USD`, US dollars as a decimal
 * number. A variable of `wrangler.toml` may be a number, a secret is text; empty means not set. Zero is a limit too:
 * no run may spend anything.
 */
export const dailyTokens = setting(/^\d{1,15}$/, 'must be a whole number, such as 2000000', Number)
/** `ISOLA_DAILY_COST_USD`, read into billionths of a US dollar; empty is no limit. */
export const dailyCostUsd = setting(
  /^\d{1,6}(\.\d{1,9})?$/,
  'must be an amount of US dollars, such as 25 or 2.50',
  toNanoUsd,
)

function setting(form: RegExp, message: string, toAmount: (text: string) => number) {
  return z
    .union([z.string(), z.number()], message)
    .optional()
    .transform((value) => String(value ?? '').trim())
    .refine((text) => text === '' || form.test(text), message)
    .transform((text) => (text === '' ? unlimited : toAmount(text)))
}

/** Reads the digits, since binary fractions cannot hold every decimal: a limit is exact to the billionth. */
function toNanoUsd(text: string): number {
  const [whole = '0', fraction = ''] = text.split('.')
  return Number(whole) * 1e9 + Number(fraction.padEnd(9, '0'))
}

/** The two sources of a cost limit: the deployment's settings, and keys. */
interface CostLimitsOptions {
  readonly defaults: () => DayAmount
  readonly keys: Pick<KeyStore, 'list'>
  readonly clock: Pick<Clock, 'nowMs'>
}

const maxKeys = 500

/**
 * Lists where this deployment limits the cost of a day, in words for an operator; empty without such a limit. Under
 * one, a model without a price is not called. May throw: settings are wrong, or the database is away.
 */
export function createCostLimits({ defaults, keys, clock }: CostLimitsOptions) {
  return async (): Promise<readonly string[]> => {
    const all = defaults().costNanoUsd < unlimited ? ['ISOLA_DAILY_COST_USD'] : []
    const listed = await keys.list({ limit: maxKeys })
    const own = listed
      .filter((key) => stateOf(key, clock.nowMs()) === 'active')
      .filter(({ limits }) => (limits?.costNanoUsd ?? unlimited) < unlimited)
      .map(({ principal }) => `the key of ${principal}`)
    return [...all, ...new Set(own)]
  }
}

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
