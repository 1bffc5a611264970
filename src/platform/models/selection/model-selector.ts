import { defined } from '#contracts/defined.ts'
import { errorCode } from '#contracts/errors.ts'
import type { ModelCandidate, ScoreModel } from '../types.ts'
import type { ModelRequest, ModelSelection } from '#contracts/model.ts'
import { orderCandidates, type CandidateOrder } from './candidate-order.ts'
import { needsOf } from './capability-check.ts'
import type { TokenEstimator } from '../estimate.ts'
import type { ModelRegistry } from './model-registry.ts'
import type { PriorityList } from './priority-list.ts'
import type { ProviderHealth, Target } from './provider-health.ts'

export interface ModelSelector {
  readonly select: (name: string | undefined, request?: ModelRequest) => ModelSelection
  /** The models to try, in order; at least one. Stays the same for one request. */
  readonly candidatesFor: (request: ModelRequest) => CandidateOrder['candidates']
  /** The models that may answer the request, in order, however long it is; empty if none can take it. */
  readonly whoAnswers: (request: ModelRequest) => readonly Target[]
}

export interface ModelSelectorOptions {
  readonly registry: ModelRegistry
  readonly priorityOf: (name: string | undefined) => PriorityList
  readonly health: ProviderHealth
  readonly score: ScoreModel
  readonly tokens: TokenEstimator
}

/** Takes a model for a request: by name, by what the request needs, by score. */
export function createModelSelector(options: ModelSelectorOptions): ModelSelector {
  const { registry, priorityOf, health, score, tokens } = options
  // The order is chosen once for a request, so that its estimate and its attempts agree, whatever time passes
  // meanwhile.
  const choices = new WeakMap<ModelRequest, CandidateOrder>()

  function toCandidate(request: ModelRequest, target: Target, priority: number): ModelCandidate {
    const { provider, model } = target
    const latencyMs = health.latencyMs(target)
    const backend = registry.backendOf(provider)
    return {
      provider,
      model,
      priority,
      capabilities: registry.capabilitiesOf(target),
      estimate: backend.estimate({ ...request, model }),
      isPriced: backend.priceOf(model) !== undefined,
      ...defined({ latencyMs }),
    }
  }

  /** Listed, or asked for with its provider: a bare name may be that of an agent which is not there. */
  const isKnownIn =
    ({ model: asked = '' }: ModelRequest) =>
    ({ provider, model }: Target): boolean =>
      asked.startsWith(`${provider}/`) ||
      registry.known().some((one) => one.provider === provider && one.model === model)

  function choose(request: ModelRequest, { targets, isNamed }: PriorityList): CandidateOrder {
    const choice = orderCandidates({
      isNamed,
      isKnown: isKnownIn(request),
      candidates: targets.map((target, index) => toCandidate(request, target, index)),
      needs: needsOf(request, tokens.ofRequest(request)),
      score,
      isCooling: health.isCooling,
    })
    choices.set(request, choice)
    return choice
  }

  function select(name: string | undefined, request?: ModelRequest): ModelSelection {
    const list = priorityOf(name)
    const { targets, isSubstitute } = list
    const choice = request && choose(request, list)
    const { provider, model } = choice?.candidates[0] ?? targets[0]
    const isFirst = provider === targets[0].provider && model === targets[0].model
    return {
      provider,
      model,
      substituted: isSubstitute || !isFirst,
      ...(choice && !isFirst && { passedOver: choice.passedOver }),
    }
  }

  function whoAnswers(request: ModelRequest): readonly Target[] {
    const needs = { ...needsOf(request, 0), contextTokens: 0 }
    const short = { ...request, messages: [] }
    try {
      const { targets, isNamed } = priorityOf(request.model)
      if (targets.length === 1) return targets
      const candidates = targets.map((target, index) => toCandidate(short, target, index))
      const { isCooling } = health
      return orderCandidates({ candidates, needs, score, isCooling, isNamed }).candidates
    } catch (error) {
      // The caller that sends this request gets the reason then.
      if (errorCode(error)) return []
      throw error
    }
  }

  return {
    select,
    whoAnswers,
    candidatesFor: (request) =>
      (choices.get(request) ?? choose(request, priorityOf(request.model))).candidates,
  }
}
