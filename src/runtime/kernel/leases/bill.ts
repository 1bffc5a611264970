import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { EventDraft } from '#contracts/event.ts'
import type { LeaseRefusal } from '#contracts/lease.ts'
import type { ModelEstimate, ModelRequest, ModelSelection, ModelUsage } from '#contracts/model.ts'

/**
 * A bill that is no number would unmake a ledger, a negative one would credit it: the whole reservation stands then.
 */
export function billable(usage: ModelUsage, reserved: ModelEstimate): ModelUsage {
  const counts = [usage.inputTokens, usage.outputTokens, usage.costNanoUsd]
  if (counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return usage
  const { tokens: inputTokens, costNanoUsd } = reserved
  return { ...usage, inputTokens, outputTokens: 0, costNanoUsd, estimated: true }
}

/** The event that records a change of model. */
export function substitutionOf(
  { model: asked = '' }: ModelRequest,
  { provider, model, passedOver }: ModelSelection,
): EventDraft {
  const data = { asked, provider, model, ...(passedOver && { passedOver }) }
  return { type: 'model_substituted', data }
}

/** Failures with which a provider says that it did not work on the request, unless a reply had begun. */
export const isRefusal = (error: unknown): boolean =>
  /^model_(auth|rate_limited|unavailable|refused_request|context_exceeded|price_unknown|not_(found|configured|capable))$/.test(
    errorCode(error) ?? '',
  )

/** The amount of a refusal in words for a person: tokens as they are, costs in US dollars. */
export const amountText = (code: LeaseRefusal['code'], amount: number): string =>
  /cost|platform/.test(code) ? `$${Number((amount / 1e9).toPrecision(3))}` : String(amount)

/** Why there is no further model call, in words for a person. */
export function toError({ code, ...refusal }: LeaseRefusal): IsolaError {
  const [asked, left] = [refusal.asked, refusal.left].map((one) => amountText(code, one))
  const message = `The budget does not allow another model call (${asked} asked, ${left} left).`
  return new IsolaError(code, message)
}
