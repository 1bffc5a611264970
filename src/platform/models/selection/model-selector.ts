import {
  type ModelCapabilities,
  type ModelWindow,
  type ModelConfig,
  defaultModelName,
  type ModelCandidate,
  type ScoreModel,
} from '../types.ts'
import { offlineModelName } from '../offline-model.ts'
import type { ModelBackend, RegisteredBackend, TokenEstimator } from '../estimate.ts'
import type { ModelTarget, ProviderHealth } from './fallback.ts'
import { IsolaError, errorCode } from '#contracts/errors.ts'
import { defined } from '#contracts/defined.ts'
import type { ModelRequest, ModelSelection } from '#contracts/model.ts'
import { orderCandidates, type CandidateOrder, needsOf } from './candidate-order.ts'

/** Which models this deployment has, by name. */
interface ModelRegistry {
  /** A name from a request; `undefined` if no provider here serves it. */
  readonly find: (name: string) => ModelTarget | undefined
  /**
   * A name of the operator's: an unknown prefix belongs to the model's name there (`meta-llama/llama-3` on a router).
   */
  readonly findSetting: (name: string) => ModelTarget | undefined
  readonly has: (provider: string) => boolean
  readonly backendOf: (provider: string) => ModelBackend
  readonly capabilitiesOf: (target: ModelTarget) => ModelCapabilities
  readonly windowOf: (target: ModelTarget) => ModelWindow | undefined
  /** The models that are known by name, provider by provider. */
  readonly known: () => readonly ModelTarget[]
}

export function createModelRegistry(registered: readonly RegisteredBackend[]): ModelRegistry {
  const providers = new Map(registered.map((one) => [one.backend.id, one]))
  const known = registered.flatMap(({ backend, models }) =>
    Object.keys(models).map((model) => ({ provider: backend.id, model })),
  )
  const inOpenAi = (model: string): ModelTarget | undefined =>
    providers.get('openai')?.isOpen ? { provider: 'openai', model } : undefined

  function find(name: string): ModelTarget | undefined {
    const full = name === offlineModelName ? `offline/${offlineModelName}` : name
    const slash = full.indexOf('/')
    const provider = providers.get(full.slice(0, Math.max(0, slash)))
    if (provider) {
      const model = full.slice(slash + 1)
      const isServed = model !== '' && (provider.isOpen || Object.hasOwn(provider.models, model))
      return isServed ? { provider: provider.backend.id, model } : undefined
    }
    return known.find(({ model }) => model === full) ?? (slash < 0 ? inOpenAi(full) : undefined)
  }

  return {
    find,
    findSetting: (name) => find(name) ?? (isBuiltIn(name) ? undefined : inOpenAi(name)),
    has: (provider) => providers.has(provider),
    backendOf(provider) {
      const found = providers.get(provider)
      if (!found) throw new Error(`There is no provider ${provider}.`)
      return found.backend
    },
    capabilitiesOf: ({ provider, model }) => {
      const models = providers.get(provider)?.models ?? {}
      return (Object.hasOwn(models, model) && models[model]) || {}
    },
    windowOf: ({ provider, model }) => providers.get(provider)?.windowOf(model),
    known: () => known,
  }
}

/** These names mean what they say also where they are not served: no server is asked for them. */
const isBuiltIn = (name: string): boolean =>
  name === offlineModelName || /^(?:offline|workers-ai)\//.test(name)

/** Used when a key or base URL is set but no model: small, cheap and known to most compatible servers. */
const fallbackOpenAiModel = 'gpt-4o-mini'

/** The models that may answer, in priority order. */
interface PriorityList {
  readonly targets: readonly [ModelTarget, ...ModelTarget[]]
  /** True when the first is not what was asked for. */
  readonly isSubstitute: boolean
  /** It was asked for by a name that is not in `ISOLA_MODEL`: the operator has listed no other for it. */
  readonly isNamed: boolean
}

/** The names in `ISOLA_MODEL`. */
export const namesIn = (setting = ''): readonly string[] =>
  setting
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/**
 * Reads names as models: the requested model, then the models of `ISOLA_MODEL`. Without a setting the default is the
 * OpenAI-compatible server, else the first further server that names a model, else Workers AI on a deployment, else
 * the offline model in development. Throws `model_not_configured`.
 */
export function createPriorityList(
  config: ModelConfig,
  registry: ModelRegistry,
): (asked: string | undefined) => PriorityList {
  const names = namesIn(config.defaultModel)
  const [first, ...rest] = names.flatMap((name) => registry.findSetting(name) ?? [])
  const listed = first ? [first, ...rest] : []

  function defaults(): PriorityList {
    if (first) return { targets: [first, ...rest], isSubstitute: false, isNamed: false }
    if (names.length === 0) {
      const target = implicitDefault()
      if (target) return { targets: [target], isSubstitute: false, isNamed: false }
    }
    if (registry.has('offline') && config.isDevelopment)
      return { targets: [offlineTarget], isSubstitute: names.length > 0, isNamed: false }
    throw notConfigured(config.defaultModel)
  }

  function implicitDefault(): ModelTarget | undefined {
    // Further servers come before Workers AI.
    const known = registry.known().find(({ provider }) => provider !== 'offline')
    return registry.find(`openai/${fallbackOpenAiModel}`) ?? known
  }

  return (asked) => {
    if (!asked || asked === defaultModelName || asked === config.defaultModel) return defaults()
    const target = names.includes(asked) ? registry.findSetting(asked) : registry.find(asked)
    if (!target) return { ...defaults(), isSubstitute: true }
    const others = listed.filter((one) => !isSame(one, target))
    const isNamed = !listed.some((one) => isSame(one, target))
    return { targets: [target, ...others], isSubstitute: false, isNamed }
  }
}

const offlineTarget: ModelTarget = { provider: 'offline', model: offlineModelName }

const isSame = (one: ModelTarget, other: ModelTarget): boolean =>
  one.provider === other.provider && one.model === other.model

function notConfigured(name: string | undefined): IsolaError {
  const asked = name ? `No provider serves the model ${name}` : 'No model is configured'
  return new IsolaError(
    'model_not_configured',
    `${asked}. Set OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL, or ISOLA_PROVIDERS, as secrets or ` +
      'vars, or add the AI binding.',
  )
}

export interface ModelSelector {
  readonly select: (name: string | undefined, request?: ModelRequest) => ModelSelection
  /** The models to try, in order; at least one. Stays the same for one request. */
  readonly candidatesFor: (request: ModelRequest) => CandidateOrder['candidates']
  /** The models that may answer the request, in order, however long it is; empty if none can take it. */
  readonly whoAnswers: (request: ModelRequest) => readonly ModelTarget[]
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

  function toCandidate(
    request: ModelRequest,
    target: ModelTarget,
    priority: number,
  ): ModelCandidate {
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
    ({ provider, model }: ModelTarget): boolean =>
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

  function whoAnswers(request: ModelRequest): readonly ModelTarget[] {
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
