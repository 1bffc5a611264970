import type { ModelCallSummary } from '#contracts/agent.ts'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { EventData, EventDraft } from '#contracts/event.ts'
import { zeroUsage, type Lease, type LeaseRefusal, type Usage } from '#contracts/lease.ts'
import type { ModelProvider, ModelReply, ModelRequest, ModelSelection } from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolOwner } from '#contracts/tool.ts'
import type { Ledger } from '#contracts/ledger.ts'
import { billable, isRefusal, substitutionOf, toError } from './bill.ts'

export interface GenerateOptions {
  readonly models: ModelProvider
  readonly clock: Clock
  readonly ledger: Ledger
  readonly signal: AbortSignal
  readonly emit: (event: EventDraft) => void
  /** What each request spent, with its summary if it was answered. */
  readonly onSpent: (usage: Usage, call?: ModelCallSummary) => void
  /** What the record says of the n-th request besides. */
  readonly about: (request: number) => ModelRequestOf
  /** Says no to a model that must not take a request, nor take it over; all may if absent. */
  readonly mayUse?: (selection: ModelSelection) => boolean
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
 * What is left of the cost is the request's ceiling, so that no model without a price is asked under a limit.
 * Throws `lease_…` when the first reservation is refused.
 */
export function createGenerate(options: GenerateOptions) {
  const { models, clock, ledger, emit, signal, mayUse = () => true } = options
  let { lostCalls } = options
  let requests = lostCalls
  return async (asked: ModelRequest): Promise<ModelReply> => {
    const ceiling = Math.min(ledger.left().costNanoUsd, asked.maxCostNanoUsd ?? Infinity)
    const request = { ...asked, maxCostNanoUsd: ceiling }
    let selection = models.select(request.model, request)
    let estimate = models.estimate(request)
    for (; lostCalls > 0; lostCalls -= 1) {
      ledger.charge(estimate)
      options.onSpent({ ...zeroUsage, ...estimate, modelCalls: 1 })
      tellFailed(requests - lostCalls + 1, 'lost', estimate, { durationMs: 0 })
    }
    if (!mayUse(selection))
      throw new IsolaError('model_not_configured', 'No model that may be used here serves this.')
    let attempt: Attempt | undefined
    const refusal = reserve()
    if (refusal) throw toError(refusal)
    if (selection.substituted) emit(substitutionOf(request, selection))
    try {
      const reply = await models.generate(request, {
        signal,
        onDelta(text) {
          if (attempt) attempt.partialChars += text.length
          if (attempt) attempt.firstTextMs ??= Math.max(0, clock.nowMs() - attempt.startedAtMs)
          options.onDelta(text)
        },
        headers: () => options.headersOf(attempt?.request ?? 0),
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
          if (next && !mayUse(next.selection)) return false
          if (next) ({ selection, estimate } = next)
          const isAllowed = reserve() === undefined
          if (next && isAllowed) emit(substitutionOf(request, selection))
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
        const request = (requests += 1)
        const startedAtMs = clock.nowMs()
        attempt = { request, lease, startedAtMs, isSent: false, hasBegun: false, partialChars: 0 }
        return
      }
      emit({ type: 'lease_refused', data: { ...reservation.refusal } })
      return reservation.refusal
    }

    /** Closes the attempt with what it may have cost; one that is on record already stays as it is. */
    function fail(error: unknown) {
      if (!attempt) return
      const { lease, request, startedAtMs, isSent, hasBegun, partialChars } = attempt
      attempt = undefined
      const isBilled = isSent && (hasBegun || !isRefusal(error))
      const spent = isBilled ? estimate : { tokens: 0, costNanoUsd: 0 }
      ledger.settle(lease, spent)
      options.onSpent({ ...zeroUsage, ...spent, modelCalls: isSent ? 1 : 0 })
      tellFailed(request, errorCode(error) ?? (signal.aborted ? 'cancelled' : 'internal'), spent, {
        ...(partialChars > 0 && { partialChars }),
        durationMs: Math.max(0, clock.nowMs() - startedAtMs),
      })
    }

    function tellFailed(request: number, code: string, spent: Spent, more: Failed) {
      const { provider, model } = selection
      const booked = { bookedTokens: spent.tokens, bookedCostNanoUsd: spent.costNanoUsd }
      const data = { ...options.about(request), provider, model, code, ...booked, ...more }
      emit({ type: 'model_failed', data })
    }

    function book({ provider, model, finishReason, ...reply }: ModelReply) {
      if (!attempt) throw new Error('The provider sent a request again without leave.')
      const { lease, request, startedAtMs, firstTextMs } = attempt
      attempt = undefined
      const usage = billable(reply.usage, estimate)
      const { inputTokens, outputTokens, costNanoUsd } = usage
      const tokens = inputTokens + outputTokens
      if (ledger.settle(lease, { tokens, costNanoUsd })) {
        emit({ type: 'lease_overdrawn', data: { tokens, reserved: estimate.tokens } })
      }
      const spent = { tokens, costNanoUsd, inputTokens, outputTokens, modelCalls: 1 }
      const summary = { provider, model, inputTokens, outputTokens, costNanoUsd }
      options.onSpent({ ...zeroUsage, ...spent }, summary)
      const data = {
        ...options.about(request),
        provider,
        model,
        ...(selection.model !== model && { requestedModel: selection.model }),
        ...usage,
        reservedTokens: estimate.tokens,
        finishReason,
        ...(firstTextMs !== undefined && { firstTextMs }),
        durationMs: Math.max(0, clock.nowMs() - startedAtMs),
      }
      emit({ type: 'model_called', data })
    }
  }
}

/** Whose request it is: a turn's n-th, or that of a tool's code. */
type ModelRequestOf = ToolOwner & Pick<EventData<'model_called'>, 'turn' | 'request'>
type Failed = Pick<EventData<'model_failed'>, 'partialChars' | 'durationMs'>

type Spent = Pick<Usage, 'tokens' | 'costNanoUsd'>

/** A request within its reservation, as far as it is known what became of it. */
interface Attempt {
  readonly request: number
  readonly lease: Lease
  readonly startedAtMs: number
  isSent: boolean
  hasBegun: boolean
  /** Text that arrived; an attempt that fails keeps none of it. */
  partialChars: number
  firstTextMs?: number
}
