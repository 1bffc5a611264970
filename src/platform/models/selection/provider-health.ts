import { errorCode, type ModelErrorCode } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'

/** Which model of which provider. */
export interface Target {
  readonly provider: string
  readonly model: string
}

/**
 * How providers have done lately, as this isolate saw it: a cache that makes calls faster, forgotten with the isolate.
 * Nothing that must hold depends on it.
 */
export interface ProviderHealth {
  readonly isCooling: (target: Target) => boolean
  /** Epoch milliseconds, if it cools down now. */
  readonly coolingUntilMs: (target: Target) => number | undefined
  readonly latencyMs: (target: Target) => number | undefined
  /** After each request that failed. */
  readonly failed: (target: Target, error: unknown) => void
  readonly succeeded: (target: Target, durationMs: number) => void
}

export interface CoolDown {
  /** Failures in a row after which a provider is left alone. */
  readonly failures: number
  readonly coolMs: number
  /** A provider that asks for a longer pause gets it, up to this. */
  readonly maxCoolMs: number
}

export const defaultCoolDown: CoolDown = { failures: 3, coolMs: 30_000, maxCoolMs: 300_000 }

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

  function coolingUntilMs(target: Target): number | undefined {
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

const modelKey = ({ provider, model }: Target): string => `${provider}/${model}`
const keysOf = (target: Target): readonly string[] => [target.provider, modelKey(target)]

/** A rate limit and an empty reply are a model's own; whatever else goes wrong is the provider's; a bad request is neither's. */
function keyOfFailure(target: Target, error: unknown): string | undefined {
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
