import { errorCode, type ModelErrorCode } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ModelCallOptions, ModelReply, ModelRequest, PassedOver } from '#contracts/model.ts'
import type { ModelCandidate } from '../types.ts'
import { defaultTimeoutMs, type ModelBackend } from '../estimate.ts'

/** Which model of which provider. */
export interface ModelTarget {
  readonly provider: string
  readonly model: string
}

/**
 * How providers have done lately, as this isolate saw it: a cache that makes calls faster, forgotten with the isolate.
 * Nothing that must hold depends on it.
 */
export interface ProviderHealth {
  readonly isCooling: (target: ModelTarget) => boolean
  /** Epoch milliseconds, if it cools down now. */
  readonly coolingUntilMs: (target: ModelTarget) => number | undefined
  readonly latencyMs: (target: ModelTarget) => number | undefined
  /** After each request that failed. */
  readonly failed: (target: ModelTarget, error: unknown) => void
  readonly succeeded: (target: ModelTarget, durationMs: number) => void
}

interface CoolDown {
  /** Failures in a row after which a provider is left alone. */
  readonly failures: number
  readonly coolMs: number
  /** A provider that asks for a longer pause gets it, up to this. */
  readonly maxCoolMs: number
}

const defaultCoolDown: CoolDown = { failures: 3, coolMs: 30_000, maxCoolMs: 300_000 }

interface State {
  failures: number
  untilMs: number
}

/** After its pause a provider is asked again; if that fails too, the next pause begins at once. */
export function createProviderHealth(
  nowMs: Clock['nowMs'],
  { failures: maxFailures, coolMs, maxCoolMs }: CoolDown = defaultCoolDown,
): ProviderHealth {
  const states = new Map<string, State>()
  const latencies = new Map<string, number>()

  function coolingUntilMs(target: ModelTarget): number | undefined {
    const until = Math.max(0, ...keysOf(target).map((key) => states.get(key)?.untilMs ?? 0))
    return until > nowMs() ? until : undefined
  }

  return {
    coolingUntilMs,
    isCooling: (target) => coolingUntilMs(target) !== undefined,
    latencyMs: (target) => latencies.get(modelKey(target)),
    failed(target, error) {
      const key = keyOfFailure(target, error)
      if (key === undefined) return
      const failures = (states.get(key)?.failures ?? 0) + 1
      const pauseMs = Math.min(Math.max(coolMs, retryAfterOf(error)), maxCoolMs)
      states.set(key, { failures, untilMs: failures >= maxFailures ? nowMs() + pauseMs : 0 })
    },
    succeeded(target, durationMs) {
      for (const key of keysOf(target)) states.delete(key)
      const before = latencies.get(modelKey(target)) ?? durationMs
      latencies.set(modelKey(target), Math.round(0.8 * before + 0.2 * durationMs))
    },
  }
}

const modelKey = ({ provider, model }: ModelTarget): string => `${provider}/${model}`
const keysOf = (target: ModelTarget): readonly string[] => [target.provider, modelKey(target)]

/**
 * A rate limit and an empty reply are a model's own; whatever else goes wrong is the provider's; a bad request is
 * neither's.
 */
function keyOfFailure(target: ModelTarget, error: unknown): string | undefined {
  // Only a model's own failures are asked about: the caller's cancel has no code.
  switch (errorCode(error) as ModelErrorCode | undefined) {
    case 'model_rate_limited':
    case 'model_empty_reply':
      return modelKey(target)
    case 'model_unavailable':
    case 'model_network':
    case 'model_timeout':
    case 'model_auth':
    case 'model_invalid_reply':
      return target.provider
    case 'model_refused_request':
    case 'model_context_exceeded':
    case 'model_not_found':
    case 'model_not_configured':
    case 'model_not_capable':
    case 'model_price_unknown':
    case 'model_denied':
    case undefined:
      return undefined
  }
}

function retryAfterOf(error: unknown): number {
  const value =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'retryAfterMs') : undefined
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

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
