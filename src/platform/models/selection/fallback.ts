import { errorCode } from '#contracts/errors.ts'
import type { ModelCallOptions, ModelReply, ModelRequest, PassedOver } from '#contracts/model.ts'
import type { ModelCandidate } from '../types.ts'
import type { Clock } from '#contracts/sources.ts'
import { defaultTimeoutMs, type ModelBackend } from '../model-backend.ts'
import type { ProviderHealth } from './provider-health.ts'

export interface FallbackOptions {
  /** In the order in which they are asked; at least one. */
  readonly candidates: readonly ModelCandidate[]
  readonly backendOf: (provider: string) => ModelBackend
  readonly health: ProviderHealth
  readonly nowMs: Clock['nowMs']
}

/** The longest wait for a busy model while another model is ready. */
const maxWaitMs = 5_000

/**
 * Asks the candidates in turn until one answers. The next one takes over when a provider turned the request away or
 * could not be reached, its own retries are used up, nothing of a reply has arrived, and the caller's lease allows
 * another attempt. The time limit of the call covers all attempts together.
 */
export async function generateWithFallback(
  request: ModelRequest,
  call: ModelCallOptions,
  { candidates, backendOf, health, nowMs }: FallbackOptions,
): Promise<ModelReply> {
  const startedAtMs = nowMs()
  const { timeoutMs = defaultTimeoutMs } = request.parameters
  const failed: PassedOver[] = []
  for (let at = 0; ; at += 1) {
    const [candidate, next] = candidates.slice(at)
    if (!candidate) throw new Error('There is no candidate to ask.')
    const leftMs = timeoutMs - Math.max(0, nowMs() - startedAtMs)
    const attempt = watchAttempt(call, { candidate, health, nowMs })
    try {
      const reply = await backendOf(candidate.provider).generate(
        toRequest(request, candidate, at === 0 ? undefined : leftMs),
        { ...attempt.call, ...(next && { maxWaitMs }) },
      )
      attempt.succeeded()
      return reply
    } catch (error) {
      attempt.failed(error)
      const isOver = call.signal.aborted || attempt.isRefused() || attempt.isHeard()
      const hasTime = nowMs() - startedAtMs < timeoutMs
      if (!next || isOver || !hasTime || !mayTakeOver(error)) throw error
      const { provider, model } = candidate
      failed.push({ provider, model, reason: errorCode(error) ?? 'internal' })
      const selection = {
        provider: next.provider,
        model: next.model,
        substituted: true,
        passedOver: [...failed],
      }
      if (!call.mayRetry(error, { selection, estimate: next.estimate })) throw error
    }
  }
}

function toRequest(
  request: ModelRequest,
  { model }: ModelCandidate,
  timeoutMs: number | undefined,
): ModelRequest {
  if (timeoutMs === undefined) return { ...request, model }
  return { ...request, model, parameters: { ...request.parameters, timeoutMs } }
}

/** The caller's options, with an eye on what becomes of the attempt. */
function watchAttempt(
  call: ModelCallOptions,
  {
    candidate,
    health,
    nowMs,
  }: { candidate: ModelCandidate } & Pick<FallbackOptions, 'health' | 'nowMs'>,
) {
  let isHeard = false
  let isRefused = false
  let sentAtMs = nowMs()
  return {
    isHeard: () => isHeard,
    /** The lease allows no further attempt, with no other model either. */
    isRefused: () => isRefused,
    succeeded: () => health.succeeded(candidate, Math.max(0, nowMs() - sentAtMs)),
    failed(error: unknown) {
      // A refused attempt is counted already, and a caller's cancel is no failure of the model.
      if (!isRefused && !call.signal.aborted) health.failed(candidate, error)
    },
    call: {
      ...call,
      onHeard: () => void (isHeard = true),
      onDelta(text: string) {
        isHeard = true
        call.onDelta(text)
      },
      onSent() {
        sentAtMs = nowMs()
        call.onSent()
      },
      mayRetry(failure: unknown) {
        health.failed(candidate, failure)
        const isAllowed = call.mayRetry(failure)
        isRefused = !isAllowed
        return isAllowed
      },
    },
  }
}

/**
 * The provider's trouble, not the request's: another one may do better. A refused request would be refused again, an
 * unreadable reply was paid for, and a call that timed out has no time left. A reply with nothing in it says nothing
 * against the request.
 */
function mayTakeOver(error: unknown): boolean {
  switch (errorCode(error)) {
    case 'model_rate_limited':
    case 'model_unavailable':
    case 'model_network':
    case 'model_auth':
    case 'model_empty_reply':
      return true
    default:
      return false
  }
}
