import { inputReserveFactor, unlimited } from '#contracts/lease.ts'
import type { ContextInput } from './types.ts'
import type { ModelPrice } from '#contracts/model.ts'

/** The input limits of a call, in tokens. */
export interface Sizes {
  /** The model's window; `Infinity` if not known. */
  readonly window: number
  /** The most input that the lease can pay for one call. */
  readonly budget: number
  /** The lower of both, by which a compaction goes; the present size if neither is known. */
  readonly room: number
  /** A compaction begins above this. */
  readonly start: number
  /** The size after a compaction. */
  readonly target: number
  /** The most that the last turns may fill of it. */
  readonly lastTurns: number
}

const maxLastTurns = 20_000

/**
 * @param size The present size of the call: the only measure if the window is not known, or was wrong.
 * @param fixed The part that no compaction changes: instructions and tools.
 */
export function toSizes(
  { model, left, settings, force }: Pick<ContextInput, 'model' | 'left' | 'settings' | 'force'>,
  size: number,
  fixed = 0,
): Sizes {
  const { contextTokens, maxOutputTokens } = model
  const window = contextTokens === undefined ? Infinity : contextTokens - maxOutputTokens
  const budget = affordable(left, model)
  const refused = force === 'context_error' ? size : Infinity
  // A requested compaction takes a share of the transcript, however large the window is. The lease does not limit it:
  // no model call follows that would need the money.
  const isAsked = force === 'requested'
  const takes = Math.min(window, isAsked ? Infinity : budget)
  const orAll = (tokens: number) => (Number.isFinite(tokens) ? tokens : size)
  const room = orAll(Math.min(takes, refused))
  const said = Math.max(0, size - fixed)
  return {
    window,
    budget,
    start: settings.start * window,
    target: isAsked
      ? Math.floor(Math.min(settings.target * window, fixed + settings.target * said))
      : Math.floor(settings.target * room),
    room: orAll(takes),
    lastTurns: Math.min(maxLastTurns, Math.floor((isAsked ? Math.min(room, said) : room) / 4)),
  }
}

/** The largest input that a call may have so that its reservation is granted. */
function affordable(
  { maxTokens, maxCostNanoUsd }: ContextInput['left'],
  { maxOutputTokens, price }: ContextInput['model'],
): number {
  const byTokens =
    maxTokens >= unlimited ? Infinity : (maxTokens - maxOutputTokens) / inputReserveFactor
  if (!price || maxCostNanoUsd >= unlimited || price.inputUsdPerMillion <= 0)
    return Math.floor(byTokens)
  const byCost = payable(price, maxCostNanoUsd, maxOutputTokens) / inputReserveFactor
  return Math.floor(Math.min(byTokens, byCost))
}

/** The most input tokens that can be paid with so much output: each length at its own price. */
function payable(price: ModelPrice, maxCostNanoUsd: number, outputTokens: number): number {
  const tiers = [{ ...price, inputTokens: 0 }, ...(price.above ?? [])]
  const most = tiers.map(({ inputTokens: from, ...tier }, index) => {
    const forInput = maxCostNanoUsd - outputTokens * nanoPerToken(tier.outputUsdPerMillion)
    const input = Math.floor(forInput / nanoPerToken(tier.inputUsdPerMillion))
    const to = tiers[index + 1]?.inputTokens ?? Infinity
    return index === 0 || input > from ? Math.min(input, to) : -Infinity
  })
  return Math.max(...most)
}

/** The tokens that chat formats add to a request. */
export const perRequest = 4

/** The cost of so much input, at the price for its length. */
export const inputCostOf = (price: ModelPrice, tokens: number): number =>
  Math.round(tokens * nanoPerToken(tierOf(price, tokens).inputUsdPerMillion))

/** The cost of so much output, at the price for the length of its input. */
export const outputCostOf = (price: ModelPrice, inputTokens: number, tokens: number): number =>
  Math.round(tokens * nanoPerToken(tierOf(price, inputTokens).outputUsdPerMillion))

const tierOf = (
  price: ModelPrice,
  tokens: number,
): Pick<ModelPrice, 'inputUsdPerMillion' | 'outputUsdPerMillion'> =>
  price.above?.findLast(({ inputTokens }) => tokens > inputTokens) ?? price

const nanoPerToken = (usdPerMillion: number): number => usdPerMillion * 1_000
