import { errorCode, IsolaError } from '#contracts/errors.ts'
import { addUsage, zeroUsage, type Lease, type LeaseRefusal } from '#contracts/lease.ts'
import {
  billable,
  isRefusal,
  substitutionOf,
  type ModelProvider,
  type ModelReply,
  type ModelRequest,
} from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import type { Ledger } from './ledger.ts'
import type { Stamp, TurnDraft } from './turn.ts'

export interface GenerateOptions {
  readonly models: ModelProvider
  readonly clock: Clock
  readonly ledger: Ledger
  readonly signal: AbortSignal
  readonly draft: TurnDraft
  readonly stamp: Stamp
  readonly onDelta: (text: string) => void
  readonly isWatched: () => boolean
  readonly onSent: () => void
  /** Requests of this turn that a crash may have cut after they were sent: each is charged in full. */
  readonly lostCalls: number
  /** Of the turn's n-th request. */
  readonly headersOf: (request: number) => Readonly<Record<string, string>>
}

/**
 * The leased way to a model: reserves estimated input × 1.25 + output cap, calls, settles what the provider
 * counted. A request that got lost is booked in full and its retry reserved anew, since both may be billed; so is a
 * request to another model that takes over.
 * Throws `lease_…` when the first reservation is refused.
 */
export function createGenerate(options: GenerateOptions) {
  const { models, clock, ledger, draft, stamp, signal } = options
  let { lostCalls } = options
  let requests = lostCalls
  return async (request: ModelRequest): Promise<ModelReply> => {
    let selection = models.select(request.model, request)
    let estimate = models.estimate(request)
    for (; lostCalls > 0; lostCalls -= 1) {
      ledger.charge(estimate)
      draft.usage = addUsage(draft.usage, { ...zeroUsage, ...estimate, modelCalls: 1 })
    }
    let attempt: Attempt | undefined
    const refusal = reserve()
    if (refusal) {
      const { code, asked, left } = refusal
      const message = `The budget does not allow another model call (${asked} asked, ${left} left).`
      throw new IsolaError(code, message)
    }
    if (selection.substituted) draft.events.push(stamp(substitutionOf(request, selection)))
    try {
      const reply = await models.generate(request, {
        signal,
        onDelta(text) {
          if (attempt) attempt.partialChars += text.length
          if (attempt) attempt.firstTextMs ??= Math.max(0, clock.nowMs() - attempt.startedAtMs)
          options.onDelta(text)
        },
        headers: () => options.headersOf(attempt?.about.request ?? 0),
        isUnwatched: !options.isWatched(),
        onSent() {
          if (attempt) attempt.isSent = true
          options.onSent()
        },
        onBegun() {
          if (attempt) attempt.hasBegun = true
        },
        mayRetry(failure, next) {
          fail(failure)
          if (next) ({ selection, estimate } = next)
          const isAllowed = reserve() === undefined
          if (next && isAllowed) draft.events.push(stamp(substitutionOf(request, selection)))
          return isAllowed
        },
      })
      book(reply)
      return reply
    } catch (error) {
      fail(error)
      throw error
    } finally {
      options.onSent()
    }

    /** Opens an attempt, unless the lease refuses it. */
    function reserve(): LeaseRefusal | undefined {
      const reservation = ledger.reserve(estimate)
      if (reservation.ok) {
        const { lease } = reservation
        const about = { turn: draft.turn, request: (requests += 1) }
        const startedAtMs = clock.nowMs()
        attempt = { about, lease, startedAtMs, isSent: false, hasBegun: false, partialChars: 0 }
        return
      }
      draft.events.push(stamp({ type: 'lease_refused', data: { ...reservation.refusal } }))
      return reservation.refusal
    }

    /** Closes the attempt with what it may have cost; one that is on record already stays as it is. */
    function fail(error: unknown) {
      if (!attempt) return
      const { lease, about, startedAtMs, isSent, hasBegun, partialChars } = attempt
      attempt = undefined
      const isBilled = isSent && (hasBegun || !isRefusal(error))
      const spent = isBilled ? estimate : { tokens: 0, costNanoUsd: 0 }
      ledger.settle(lease, spent)
      draft.usage = addUsage(draft.usage, { ...zeroUsage, ...spent, modelCalls: isSent ? 1 : 0 })
      const data = {
        ...about,
        provider: selection.provider,
        model: selection.model,
        code: errorCode(error) ?? (signal.aborted ? 'cancelled' : 'internal'),
        bookedTokens: spent.tokens,
        ...(partialChars > 0 && { partialChars }),
        durationMs: Math.max(0, clock.nowMs() - startedAtMs),
      }
      draft.events.push(stamp({ type: 'model_failed', data }))
    }

    function book({ provider, model, finishReason, ...reply }: ModelReply) {
      if (!attempt) throw new Error('The provider sent a request again without leave.')
      const { lease, about, startedAtMs, firstTextMs } = attempt
      attempt = undefined
      const usage = billable(reply.usage, estimate)
      const { inputTokens, outputTokens, costNanoUsd } = usage
      const tokens = inputTokens + outputTokens
      if (ledger.settle(lease, { tokens, costNanoUsd })) {
        draft.events.push(
          stamp({ type: 'lease_overdrawn', data: { tokens, reserved: estimate.tokens } }),
        )
      }
      const spent = { tokens, costNanoUsd, inputTokens, outputTokens, modelCalls: 1 }
      draft.usage = addUsage(draft.usage, { ...zeroUsage, ...spent })
      draft.modelCalls.push({ provider, model, inputTokens, outputTokens, costNanoUsd })
      const data = {
        ...about,
        provider,
        model,
        ...(selection.model !== model && { requestedModel: selection.model }),
        ...usage,
        reservedTokens: estimate.tokens,
        finishReason,
        ...(firstTextMs !== undefined && { firstTextMs }),
        durationMs: Math.max(0, clock.nowMs() - startedAtMs),
      }
      draft.events.push(stamp({ type: 'model_called', data }))
    }
  }
}

/** A request within its reservation, as far as it is known what became of it. */
interface Attempt {
  readonly about: { readonly turn: number; readonly request: number }
  readonly lease: Lease
  readonly startedAtMs: number
  isSent: boolean
  hasBegun: boolean
  /** Text that arrived; an attempt that fails keeps none of it. */
  partialChars: number
  firstTextMs?: number
}
