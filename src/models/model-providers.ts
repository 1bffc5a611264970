import type { ModelConfig } from '#contracts/config.ts'
import { errorCode } from '#contracts/errors.ts'
import type {
  ModelCandidate,
  ModelListing,
  ModelProvider,
  ModelRequest,
  ModelSelection,
  ModelStatus,
  ScoreModel,
} from '#contracts/model.ts'
import type { Clock } from '#contracts/sources.ts'
import { byPriority, orderCandidates, type CandidateOrder } from './candidate-order.ts'
import { needsOf } from './capability-check.ts'
import { createTokenEstimator } from './estimate.ts'
import { generateWithFallback } from './fallback.ts'
import { createModelRegistry } from './model-registry.ts'
import { createPriorityList, namesIn } from './priority-list.ts'
import { createProviderHealth, type Target } from './provider-health.ts'
import { createBackends, type BackendDeps } from './registered-backends.ts'

export interface ModelProvidersDeps extends BackendDeps {
  readonly nowMs: Clock['nowMs']
  /** The host's own way to choose among those that can serve a request; default: priority order. */
  readonly score?: ScoreModel
}

/** All models of this deployment behind one provider. */
export interface ModelProviders {
  readonly provider: ModelProvider
  /** What `/v1/models` names; asks nobody. */
  readonly list: () => readonly ModelListing[]
  /** The same models with what is known of them, and how they did as this isolate saw it. */
  readonly status: () => readonly ModelStatus[]
}

/**
 * Builds the configured providers and selects among them: by name (`<provider>/<model>`, a bare name, or nothing for the
 * default), then by what a request needs, then by score. What no provider serves falls to the default, as
 * `substituted`; a provider that fails before its first delta is followed by the next of the list. The offline model
 * serves development, or where it is the explicit default.
 */
export function createModelProviders(
  config: ModelConfig,
  deps: ModelProvidersDeps,
): ModelProviders {
  const { nowMs, score = byPriority, tokens = createTokenEstimator() } = deps
  const isOfflineListed = namesIn(config.defaultModel).some((name) => /^offline(?:\/|$)/.test(name))
  const hasOffline = config.isDevelopment || isOfflineListed
  const registry = createModelRegistry(createBackends(config, { ...deps, tokens, hasOffline }))
  const priorityOf = createPriorityList(config, registry)
  const health = createProviderHealth(nowMs)
  // What was selected for a request is what is estimated and asked, whatever time does meanwhile.
  const orders = new WeakMap<ModelRequest, CandidateOrder>()

  function toCandidate(request: ModelRequest, target: Target, priority: number): ModelCandidate {
    const { provider, model } = target
    const latencyMs = health.latencyMs(target)
    return {
      provider,
      model,
      priority,
      capabilities: registry.capabilitiesOf(target),
      estimate: registry.backendOf(provider).estimate({ ...request, model }),
      ...(latencyMs !== undefined && { latencyMs }),
    }
  }

  function order(request: ModelRequest, targets = priorityOf(request.model).targets) {
    const ordered = orderCandidates({
      candidates: targets.map((target, index) => toCandidate(request, target, index)),
      needs: needsOf(request, tokens.ofRequest(request)),
      score,
      isCooling: health.isCooling,
    })
    orders.set(request, ordered)
    return ordered
  }

  function select(name: string | undefined, request?: ModelRequest): ModelSelection {
    const { targets, isSubstitute } = priorityOf(name)
    const [first] = request ? order(request, targets).candidates : targets
    const passedOver = request ? (orders.get(request)?.passedOver ?? []) : []
    if (!first) throw new Error('A list of models is never empty.')
    const { provider, model } = first
    const isFirst = provider === targets[0]?.provider && model === targets[0].model
    return {
      provider,
      model,
      substituted: isSubstitute || !isFirst,
      ...(!isFirst && { passedOver }),
    }
  }

  const orderOf = (request: ModelRequest): CandidateOrder => orders.get(request) ?? order(request)

  /** What a caller may name: the defaults, then what is known. */
  const served = (): readonly Target[] => [
    ...new Map([...defaults(), ...registry.known()].map((one) => [idOf(one), one])).values(),
  ]

  function defaults(): readonly Target[] {
    try {
      return priorityOf(undefined).targets
    } catch (error) {
      if (errorCode(error) === 'model_not_configured') return []
      throw error
    }
  }

  return {
    provider: {
      id: 'models',
      select,
      estimate: (request) => orderOf(request).candidates[0]?.estimate ?? nothing,
      generate: async (request, call) =>
        generateWithFallback(request, call, {
          candidates: orderOf(request).candidates,
          backendOf: registry.backendOf,
          health,
          nowMs,
        }),
    },
    list: () => served().map((target) => ({ id: idOf(target), provider: target.provider })),
    status: () =>
      served().map((target) => {
        const [coolingUntilMs, latencyMs] = [
          health.coolingUntilMs(target),
          health.latencyMs(target),
        ]
        return {
          id: idOf(target),
          capabilities: registry.capabilitiesOf(target),
          ...(coolingUntilMs !== undefined && { coolingUntilMs }),
          ...(latencyMs !== undefined && { latencyMs }),
        }
      }),
  }
}

const idOf = ({ provider, model }: Target): string => `${provider}/${model}`
const nothing = { tokens: 0, costNanoUsd: 0 }
