import type { ModelEstimate, ModelProvider, ModelRequest, ContextModel } from '#contracts/model.ts'
import { outputCap, createTokenEstimator } from './estimate.ts'
import type { ModelConfig, ModelListing, ModelStatus, ScoreModel } from './types.ts'
import type { TokenCounter } from '#contracts/context.ts'
import { defined } from '#contracts/defined.ts'
import { errorCode } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'
import { byPriority } from './selection/candidate-order.ts'
import {
  generateWithFallback,
  createProviderHealth,
  type ModelTarget,
} from './selection/fallback.ts'
import {
  createModelRegistry,
  createModelSelector,
  createPriorityList,
  namesIn,
} from './selection/model-selector.ts'
import { createBackends, type BackendDeps } from './registered-backends.ts'

/** A model call is not made with less room for its answer than this, or than what was asked for if that is less. */
const leastOutputTokens = 256

/**
 * The request with an output cap that its lease can pay: the requested cap, or the rest of the lease, but no less
 * than `leastOutputTokens`. If not even that fits, the cap stays at the least, for the ledger to refuse.
 */
export function fittedRequest(
  request: ModelRequest,
  estimate: ModelProvider['estimate'],
  maxTokens: number,
): ModelRequest {
  const { parameters, maxCostNanoUsd = Infinity } = request
  const asked = outputCap(request)
  const least = Math.min(asked, leastOutputTokens)
  const withCap = (maxOutputTokens: number): ModelRequest => ({
    ...request,
    parameters: { ...parameters, maxOutputTokens },
  })
  const fits = ({ tokens, costNanoUsd }: ModelEstimate) =>
    tokens <= maxTokens && costNanoUsd <= maxCostNanoUsd
  const whole = estimate(request)
  if (asked === least || fits(whole)) return request
  const smallest = withCap(least)
  if (!fits(estimate(smallest))) return smallest
  // A tier of the price or another model may lie between: halving meets every shape, in a dozen steps.
  let [most, over] = [least, asked]
  while (over - most > 1) {
    const cap = Math.floor((most + over) / 2)
    if (fits(estimate(withCap(cap)))) most = cap
    else over = cap
  }
  return withCap(most)
}

export interface ModelProvidersDeps extends BackendDeps {
  readonly nowMs: Clock['nowMs']
  /** The host's own way to choose among those that can serve a request; default: priority order. */
  readonly score?: ScoreModel
}

/** All models of this deployment behind one provider. */
export interface ModelProviders {
  readonly provider: ModelProvider
  /** How all of them are counted before they are asked. */
  readonly count: TokenCounter
  /** Every server may be given the address of an image. */
  readonly takesAddresses: boolean
  /** The models of `/v1/models`; sends no request. */
  readonly list: () => readonly ModelListing[]
  /** The same models with their capabilities and prices, and their health in this isolate. */
  readonly status: () => readonly ModelStatus[]
}

/**
 * Builds the configured providers and selects among them: by name (`<provider>/<model>`, a bare name, or nothing for
 * the default), then by what a request needs, then by score. A name that no provider serves falls to the default, as
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
  const backends = createBackends(config, { ...deps, tokens, hasOffline })
  const registry = createModelRegistry(backends)
  const priorityOf = createPriorityList(config, registry)
  const health = createProviderHealth(nowMs)
  const { select, candidatesFor, whoAnswers } = createModelSelector({
    registry,
    priorityOf,
    health,
    score,
    tokens,
  })

  /** The models that a caller may name: the defaults, then the declared ones. */
  const served = (): readonly ModelTarget[] => [
    ...new Map([...defaults(), ...registry.known()].map((one) => [idOf(one), one])).values(),
  ]

  function defaults(): readonly ModelTarget[] {
    try {
      return priorityOf(undefined).targets
    } catch (error) {
      if (errorCode(error) === 'model_not_configured') return []
      throw error
    }
  }

  /** Asked before each call, and never another for a model: names are looked for in the price file once. */
  const sizes = new Map<string, Pick<ContextModel, 'contextTokens' | 'price'>>()
  function knownOf(target: ModelTarget): Pick<ContextModel, 'contextTokens' | 'price'> {
    const before = sizes.get(idOf(target))
    if (before) return before
    const contextTokens =
      registry.capabilitiesOf(target).contextTokens ?? registry.windowOf(target)?.contextTokens
    const price = registry.backendOf(target.provider).priceOf(target.model)
    const known = defined({ contextTokens, price })
    if (sizes.size >= maxKept) sizes.clear()
    sizes.set(idOf(target), known)
    return known
  }

  /**
   * The target with the largest window. A target whose window is not declared ends the search: it may take any size.
   */
  function largest(targets: readonly ModelTarget[]): ModelTarget | undefined {
    if (targets.length < 2) return targets[0]
    const open = targets.findIndex(
      (target) => registry.capabilitiesOf(target).contextTokens === undefined,
    )
    const sizeOf = (target: ModelTarget) => knownOf(target).contextTokens ?? Infinity
    return targets
      .slice(0, open < 0 ? targets.length : open + 1)
      .toSorted((a, b) => (sizeOf(a) === sizeOf(b) ? 0 : sizeOf(b) - sizeOf(a)))[0]
  }

  const estimate = (request: ModelRequest) => candidatesFor(request)[0].estimate

  return {
    provider: {
      id: 'models',
      select,
      estimate,
      fit: (request, maxTokens) => fittedRequest(request, estimate, maxTokens),
      contextOf(request) {
        const target = largest(whoAnswers(request))
        if (!target) return undefined
        return { name: idOf(target), maxOutputTokens: outputCap(request), ...knownOf(target) }
      },
      generate: async (request, call) =>
        generateWithFallback(request, call, {
          candidates: candidatesFor(request),
          backendOf: registry.backendOf,
          health,
          nowMs,
        }),
    },
    count: tokens,
    // It is not known yet who answers when an image comes in, nor who takes over.
    takesAddresses: backends.every(({ isPublic }) => isPublic),
    list: () => served().map((target) => ({ id: idOf(target), provider: target.provider })),
    status: () =>
      served().map((target) => {
        const [coolingUntilMs, latencyMs] = [
          health.coolingUntilMs(target),
          health.latencyMs(target),
        ]
        const price = registry.backendOf(target.provider).priceOf(target.model)
        const window = registry.windowOf(target)
        return {
          id: idOf(target),
          capabilities: registry.capabilitiesOf(target),
          ...defined({ price, window, coolingUntilMs, latencyMs }),
        }
      }),
  }
}

/** The most names of requested models that are cached: a client can send any name. */
const maxKept = 500

const idOf = ({ provider, model }: ModelTarget): string => `${provider}/${model}`

interface ModelParts extends Omit<ModelProvidersDeps, 'sleep' | 'nowMs' | 'onFailed'> {
  readonly config: { readonly models: ModelConfig; readonly isDevelopment: boolean }
  readonly clock: Clock
  readonly onFault: NonNullable<ModelProvidersDeps['onFailed']>
}

/** Every model that is configured, behind one provider. */
export const composeModels = ({ config, clock, onFault, ...parts }: ModelParts) =>
  createModelProviders(config.models, {
    ...parts,
    sleep: clock.sleep,
    nowMs: clock.nowMs,
    // In development a server's failure is printed to the terminal; on a deployment the record has it.
    ...(config.isDevelopment && {
      onFailed: (failure: Parameters<typeof onFault>[0]) => onFault(failure),
    }),
  })
