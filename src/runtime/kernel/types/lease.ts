import type { Amount, Usage } from '#contracts/lease.ts'
import { combined, unlimited } from '#contracts/lease.ts'
import { defaultMaxOutputTokens } from '#contracts/lease.ts'

export const minus = (a: Amount, b: Amount): Amount => combined(a, b, -1)

/** A reserved part of what may be spent. `id` names it towards the ledger that gave it. */
export interface Lease {
  readonly id: string
  readonly amount: Amount
}

/** The rest of a limit. An unlimited amount stays unlimited. */
export const besides = (limit: number, spent: number): number =>
  limit >= unlimited ? unlimited : Math.max(0, limit - spent)

type ModelBill = Pick<Usage, 'inputTokens' | 'outputTokens' | 'costNanoUsd'>

/** An estimate of one more model call: its input is a little longer, and its answer may be far longer. */
export const callAfter = (last?: ModelBill, maxOutputTokens = defaultMaxOutputTokens) => ({
  tokens: last ? Math.ceil((last.inputTokens + last.outputTokens) * 1.25) + maxOutputTokens : 0,
  costNanoUsd: last ? Math.ceil(last.costNanoUsd * 2.5) : 0,
})
