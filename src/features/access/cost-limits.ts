import { stateOf, type KeyStore } from './types/keys.ts'
import { unlimited } from '#contracts/lease.ts'
import type { DayAmount } from '#runtime/session/types/principal.ts'
import type { Clock } from '#contracts/sources.ts'

/** The two sources of a cost limit: the deployment's settings, and keys. */
export interface CostLimitsOptions {
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
