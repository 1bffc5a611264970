import type { ModelCallSummary } from '#contracts/agent.ts'
import { errorCode } from '#contracts/errors.ts'
import type { EventDraft } from '#contracts/event.ts'
import { zeroUsage, type LeaseRefusal, type Usage } from '#contracts/lease.ts'
import { type Lease, type Ledger, type FailedAttempt, type ModelRequestOf } from '../types/lease.ts'
import type { ModelEstimate, ModelReply, ModelSelection } from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import { billable, isRefusal } from './bill.ts'

/** The ports for reserving, booking and reporting attempts. */
export interface AttemptsOptions {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly signal: AbortSignal
  readonly emit: (event: EventDraft) => void
  /** Called with the usage of each attempt, and its summary if it was answered. */
  readonly onSpent: (usage: Usage, call?: ModelCallSummary) => void
  /** The fields that the record of the n-th attempt has besides. */
  readonly about: (request: number) => ModelRequestOf
}

/** The model of an attempt, and the amount to reserve. */
export interface Aim {
  readonly selection: ModelSelection
  readonly estimate: ModelEstimate
}

/** A request within its reservation, as far as it is known what became of it. */
interface Attempt {
  readonly request: number
  readonly aim: Aim
  readonly lease: Lease
  readonly startedAtMs: number
  isSent: boolean
  hasBegun: boolean
  /** Text that arrived; an attempt that fails keeps none of it. */
  partialChars: number
  firstTextMs?: number
}

type Asked = Pick<Attempt, 'request' | 'aim'>
type Known = Partial<Pick<Attempt, 'isSent' | 'hasBegun'>>

/** The attempts of one request, one at a time. Each is reserved, then booked and reported once. */
export function createAttempts(options: AttemptsOptions, nextRequest: () => number) {
  const { clock, ledger, emit, signal } = options
  let open: Attempt | undefined
  const sinceMs = (startedAtMs: number) => Math.max(0, clock.nowMs() - startedAtMs)
  return {
    /** The number of the attempt that is open, 0 if none is. */
    request: () => open?.request ?? 0,
    /** Adds facts about the open attempt. An attempt that never reached the provider is marked as not sent. */
    note: (known: Known) => Object.assign(open ?? {}, known),
    text(chars: number) {
      if (!open) return
      open.partialChars += chars
      open.firstTextMs ??= sinceMs(open.startedAtMs)
    },

    /** Opens an attempt, unless the lease refuses it. */
    reserve(aim: Aim): LeaseRefusal | undefined {
      const given = ledger.reserve(aim.estimate)
      if (!given.ok) {
        emit({ type: 'lease_refused', data: { ...given.refusal } })
        return given.refusal
      }
      const at = { request: nextRequest(), aim, lease: given.lease, startedAtMs: clock.nowMs() }
      open = { ...at, isSent: false, hasBegun: false, partialChars: 0 }
      return undefined
    },

    /** Closes the open attempt with the most that it may have cost. Does nothing if no attempt is open. */
    fail(error: unknown) {
      if (!open) return
      const { lease, startedAtMs, isSent, hasBegun, partialChars, ...attempt } = open
      open = undefined
      const isBilled = isSent && (hasBegun || !isRefusal(error))
      ledger.settle(lease, isBilled ? attempt.aim.estimate : {})
      const code = errorCode(error) ?? (signal.aborted ? 'cancelled' : 'internal')
      const partial = partialChars > 0 && { partialChars }
      failed(attempt, { code, isSent, isBilled, ...partial, durationMs: sinceMs(startedAtMs) })
    },

    /**
     * Records an attempt that a crash may have cut after the request was sent: the provider may bill the attempt and
     * its repetition.
     */
    lost(request: number, aim: Aim) {
      ledger.charge(aim.estimate)
      failed({ request, aim }, { code: 'lost', isSent: true, isBilled: true, durationMs: 0 })
    },

    /** Closes the attempt with the usage that the provider counted. */
    book({ provider, model, finishReason, ...reply }: ModelReply) {
      if (!open) throw new Error('The provider sent a request again without leave.')
      const { lease, aim, request, startedAtMs, firstTextMs } = open
      const { selection, estimate } = aim
      open = undefined
      const usage = billable(reply.usage, estimate)
      const { inputTokens, outputTokens, costNanoUsd } = usage
      const tokens = inputTokens + outputTokens
      if (ledger.settle(lease, { tokens, costNanoUsd })) {
        emit({ type: 'lease_overdrawn', data: { tokens, reserved: estimate.tokens } })
      }
      const bill = { inputTokens, outputTokens, costNanoUsd }
      const summary = { provider, model, ...bill }
      options.onSpent({ ...zeroUsage, ...bill, tokens, modelCalls: 1 }, summary)
      const data = {
        ...options.about(request),
        provider,
        model,
        ...(selection.model !== model && { requestedModel: selection.model }),
        ...usage,
        reservedTokens: estimate.tokens,
        finishReason,
        ...(firstTextMs !== undefined && { firstTextMs }),
        durationMs: sinceMs(startedAtMs),
      }
      emit({ type: 'model_called', data })
    },
  }

  /** An attempt that may have been billed stays booked, as unconfirmed, until a provider or an operator settles it. */
  function failed({ request, aim }: Asked, { isSent, isBilled, ...told }: FailedAttempt) {
    const { tokens, costNanoUsd } = isBilled ? aim.estimate : zeroUsage
    const spent = { tokens, costNanoUsd, ...(isBilled && { unconfirmed: { tokens, costNanoUsd } }) }
    options.onSpent({ ...zeroUsage, ...spent, modelCalls: isSent ? 1 : 0 })
    const { provider, model } = aim.selection
    const booked = { bookedTokens: tokens, bookedCostNanoUsd: costNanoUsd }
    const data = { ...options.about(request), provider, model, ...booked, ...told }
    emit({ type: 'model_failed', data })
  }
}
