import { IsolaError } from '#contracts/errors.ts'
import type {
  After,
  ModelProvider,
  ModelReply,
  ModelRequest,
  ModelSelection,
} from '#contracts/model.ts'
import { createAttempts, type Aim, type AttemptsOptions } from './attempts.ts'
import { substitutionOf, toError } from './bill.ts'

export interface GenerateOptions extends AttemptsOptions {
  readonly models: ModelProvider
  /** The timer of the run. */
  readonly after?: After | undefined
  /** Whether a model may take a request, or take it over from another; every model may if absent. */
  readonly mayUse?: (selection: ModelSelection) => boolean
  readonly onDelta: (text: string) => void
  readonly isWatched: () => boolean
  readonly onSent: () => void
  /** Requests of this turn that a crash may have cut after they were sent: each is charged in full. */
  readonly lostCalls: number
  /** Requests of this turn that are on record already. */
  readonly requestsBefore?: number
  /** The headers of the turn's n-th request. */
  readonly headersOf: (request: number) => Readonly<Record<string, string>>
}

/**
 * The leased way to a model: lowers the output cap to the rest of the lease, reserves estimated input × 1.25 + that
 * cap, calls, and settles the tokens that the provider counted. A request that got lost is booked in full and its retry
 * reserved anew, since both may be billed; so is a request to another model that takes over. The rest of the cost limit
 * is the request's ceiling, so that under a limit no model without a price is called. Throws `lease_…` when the first
 * reservation is refused.
 */
export function createGenerate(options: GenerateOptions) {
  const { models, ledger, emit, signal, mayUse = () => true } = options
  let { lostCalls } = options
  let requests = (options.requestsBefore ?? 0) + lostCalls
  return async (asked: ModelRequest): Promise<ModelReply> => {
    const aimed = () => {
      const { tokens, costNanoUsd } = ledger.left()
      const ceiling = Math.min(costNanoUsd, asked.maxCostNanoUsd ?? Infinity)
      const priced = { ...asked, maxCostNanoUsd: ceiling }
      const request = models.fit?.(priced, tokens) ?? priced
      const selection = models.select(request.model, request)
      return { request, aim: { selection, estimate: models.estimate(request) } }
    }
    const attempts = createAttempts(options, () => (requests += 1))
    for (; lostCalls > 0; lostCalls -= 1) attempts.lost(requests - lostCalls + 1, aimed().aim)
    const { request, aim: first } = aimed()
    let aim: Aim = first
    if (!mayUse(aim.selection))
      throw new IsolaError('model_not_configured', 'No model that may be used here serves this.')
    const refusal = attempts.reserve(aim)
    if (refusal) throw toError(refusal)
    if (aim.selection.substituted) emit(substitutionOf(request, aim.selection))
    try {
      const reply = await models.generate(request, {
        signal,
        after: options.after,
        onDelta(text) {
          attempts.text(text.length)
          options.onDelta(text)
        },
        headers: () => options.headersOf(attempts.request()),
        isUnwatched: !options.isWatched(),
        onSent() {
          attempts.note({ isSent: true })
          options.onSent()
        },
        onUnsent: () => attempts.note({ isSent: false }),
        onBegun: () => attempts.note({ hasBegun: true }),
        mayRetry(failure, next) {
          attempts.fail(failure)
          if (next && !mayUse(next.selection)) return false
          if (next) aim = next
          const isAllowed = attempts.reserve(aim) === undefined
          if (next && isAllowed) emit(substitutionOf(request, aim.selection))
          return isAllowed
        },
      })
      attempts.book(reply)
      return reply
    } catch (error) {
      attempts.fail(error)
      throw error
    } finally {
      options.onSent()
    }
  }
}
