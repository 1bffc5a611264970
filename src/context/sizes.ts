import { inputReserveFactor, type ContextInput } from '#contracts/context.ts'
import { unlimited } from '#contracts/lease.ts'
import type { ModelPrice } from '#contracts/model.ts'

/** What a call may have as input, in tokens. */
export interface Sizes {
  /** What the model takes; `Infinity` if that is not known. */
  readonly window: number
  /** What the lease can pay for one call. */
  readonly budget: number
  /** A compaction begins above this. */
  readonly start: number
  /** So much is left by it. */
  readonly target: number
  /** The most that the last turns may have of it. */
  readonly lastTurns: number
}

const maxLastTurns = 20_000

/** @param size What the call has now: the only measure where the window is not known, or was too large. */
export function toSizes(
  { model, left, settings, force }: Pick<ContextInput, 'model' | 'left' | 'settings' | 'force'>,
  size: number,
): Sizes {
  const { contextTokens, maxOutputTokens } = model
  const window = contextTokens === undefined ? Infinity : contextTokens - maxOutputTokens
  const budget = affordable(left, model)
  const refused = force === 'context_error' ? size : Infinity
  const known = Math.min(window, budget, refused)
  const room = Number.isFinite(known) ? known : size
  return {
    window,
    budget,
    start: settings.start * window,
    target: Math.floor(settings.target * room),
    lastTurns: Math.min(maxLastTurns, Math.floor(room / 4)),
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
  const forInput = maxCostNanoUsd - maxOutputTokens * nanoPerToken(price.outputUsdPerMillion)
  const byCost = forInput / nanoPerToken(price.inputUsdPerMillion) / inputReserveFactor
  return Math.floor(Math.min(byTokens, byCost))
}

/** Of so much input, at the price for its length. */
export function inputCostOf(price: ModelPrice, tokens: number): number {
  const dearer = price.above?.findLast(({ inputTokens }) => tokens > inputTokens)
  return Math.round(tokens * nanoPerToken((dearer ?? price).inputUsdPerMillion))
}

const nanoPerToken = (usdPerMillion: number): number => usdPerMillion * 1_000
