import type { ModelEstimate, ModelProvider, ModelRequest } from '#contracts/model.ts'
import { outputCap } from './estimate.ts'

/** A model call is not made with less room for its answer than this, or than what was asked for if that is less. */
const leastOutputTokens = 256

/**
 * The request with an output cap that its lease can pay: the requested cap, or the rest of the lease, but no less
 * than `leastOutputTokens`. If not even that fits, the cap stays at the least, for the ledger to refuse.
 */
export function fittedRequest(
  request: ModelRequest,
  estimate: ModelProvider['estimate'],
  maxTokens: number,
): ModelRequest {
  const { parameters, maxCostNanoUsd = Infinity } = request
  const asked = outputCap(request)
  const least = Math.min(asked, leastOutputTokens)
  const withCap = (maxOutputTokens: number): ModelRequest => ({
    ...request,
    parameters: { ...parameters, maxOutputTokens },
  })
  const fits = ({ tokens, costNanoUsd }: ModelEstimate) =>
    tokens <= maxTokens && costNanoUsd <= maxCostNanoUsd
  const whole = estimate(request)
  if (asked === least || fits(whole)) return request
  const smallest = withCap(least)
  if (!fits(estimate(smallest))) return smallest
  // A tier of the price or another model may lie between: halving meets every shape, in a dozen steps.
  let [most, over] = [least, asked]
  while (over - most > 1) {
    const cap = Math.floor((most + over) / 2)
    if (fits(estimate(withCap(cap)))) most = cap
    else over = cap
  }
  return withCap(most)
}
