import { errorCode, IsolaError } from '#contracts/errors.ts'
import { addUsage, zeroUsage } from '#contracts/lease.ts'
import type { ModelProvider, ModelReply, ModelRequest, ModelUsage } from '#contracts/model.ts'
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
}

/**
 * The leased way to a model: reserves estimated input × 1.25 + output cap, calls, settles what the provider
 * counted. Throws `lease_…` when the reservation is refused.
 */
export function createGenerate(options: GenerateOptions) {
  const { models, clock, ledger, draft, stamp, signal } = options
  let lostCalls = options.lostCalls
  return async (request: ModelRequest): Promise<ModelReply> => {
    const selection = models.select(request.model)
    const estimate = models.estimate(request)
    for (; lostCalls > 0; lostCalls -= 1) {
      ledger.charge(estimate)
      draft.usage = addUsage(draft.usage, { ...zeroUsage, ...estimate, modelCalls: 1 })
    }
    const reservation = ledger.reserve(estimate)
    if (!reservation.ok) {
      const { code, asked, left } = reservation.refusal
      draft.events.push(stamp({ type: 'lease_refused', data: { code, asked, left } }))
      throw new IsolaError(
        code,
        `The budget does not allow another model call (${asked} asked, ${left} left).`,
      )
    }
    if (selection.substituted) {
      const data = {
        asked: request.model ?? '',
        provider: selection.provider,
        model: selection.model,
      }
      draft.events.push(stamp({ type: 'model_substituted', data }))
    }
    const startedAtMs = clock.nowMs()
    let wasSent = false
    try {
      const reply = await models.generate(request, {
        signal,
        onDelta: options.onDelta,
        isUnwatched: !options.isWatched(),
        onSent() {
          wasSent = true
          options.onSent()
        },
      })
      book(reply.usage, reply.provider, reply.model)
      draft.events.push(
        stamp({
          type: 'model_called',
          data: {
            turn: draft.turn,
            provider: reply.provider,
            model: reply.model,
            inputTokens: reply.usage.inputTokens,
            outputTokens: reply.usage.outputTokens,
            costNanoUsd: reply.usage.costNanoUsd,
            priced: reply.usage.priced,
            estimated: reply.usage.estimated,
            reservedTokens: estimate.tokens,
            finishReason: reply.finishReason,
            durationMs: clock.nowMs() - startedAtMs,
          },
        }),
      )
      return reply
    } catch (error) {
      const spent = wasSent && !isRefusal(error) ? estimate : { tokens: 0, costNanoUsd: 0 }
      ledger.settle(reservation.lease, spent)
      draft.usage = addUsage(draft.usage, { ...zeroUsage, ...spent, modelCalls: 1 })
      draft.events.push(
        stamp({
          type: 'model_failed',
          data: {
            turn: draft.turn,
            provider: selection.provider,
            model: selection.model,
            code: errorCode(error) ?? (signal.aborted ? 'cancelled' : 'internal'),
            bookedTokens: spent.tokens,
            durationMs: clock.nowMs() - startedAtMs,
          },
        }),
      )
      throw error
    } finally {
      options.onSent()
    }

    function book(usage: ModelUsage, provider: string, model: string) {
      const { inputTokens, outputTokens, costNanoUsd } = usage
      const tokens = inputTokens + outputTokens
      if (reservation.ok && ledger.settle(reservation.lease, { tokens, costNanoUsd })) {
        draft.events.push(
          stamp({ type: 'lease_overdrawn', data: { tokens, reserved: estimate.tokens } }),
        )
      }
      draft.usage = addUsage(draft.usage, {
        ...zeroUsage,
        tokens,
        costNanoUsd,
        inputTokens,
        outputTokens,
        modelCalls: 1,
      })
      draft.modelCalls.push({ provider, model, inputTokens, outputTokens, costNanoUsd })
    }
  }
}

/** Failures with which a provider says that it did not work on the request. */
function isRefusal(error: unknown): boolean {
  switch (errorCode(error)) {
    case 'model_auth':
    case 'model_rate_limited':
    case 'model_unavailable':
    case 'model_refused_request':
    case 'model_not_configured':
      return true
    default:
      return false
  }
}
