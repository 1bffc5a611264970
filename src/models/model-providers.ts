import type { ModelConfig } from '#contracts/config.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { ModelListing, ModelProvider, ModelRequest, ModelSelection } from '#contracts/model.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type { Clock } from '#contracts/sources.ts'
import { createTokenEstimator } from './estimate.ts'
import { createOfflineModel, offlineModelName } from './offline-model.ts'
import type { ModelBackend } from './model-backend.ts'
import { createOpenAiProvider } from './openai-provider.ts'
import { prices } from './price-data.ts'
import { createCostOf } from './prices.ts'

/** Used when a key or base URL is set but no model: small, cheap and known to most compatible servers. */
const fallbackOpenAiModel = 'gpt-4o-mini'

export interface ModelProvidersDeps {
  readonly fetch: typeof fetch
  readonly sleep: Clock['sleep']
  /** The search that the offline model picks tools by. */
  readonly buildIndex: BuildSearchIndex
}

/** All models of this deployment behind one provider. */
export interface ModelProviders {
  readonly provider: ModelProvider
  /** What `/v1/models` names; asks nobody. */
  readonly list: () => readonly ModelListing[]
}

type Target = Omit<ModelSelection, 'substituted'>

/**
 * Builds the configured providers and selects among them by name: `<provider>/<model>`, a bare name for the
 * OpenAI-compatible one, or nothing for the default (`ISOLA_MODEL`). What no provider serves falls to the default,
 * as `substituted`. The offline model serves development, or where it is the explicit default.
 */
export function createModelProviders(
  config: ModelConfig,
  { fetch, sleep, buildIndex }: ModelProvidersDeps,
): ModelProviders {
  const tokens = createTokenEstimator()
  const { openaiApiKey: apiKey, openaiBaseUrl: baseUrl, defaultModel, isDevelopment } = config
  const hasOpenAi = Boolean(apiKey || baseUrl)
  const hasOffline = isDevelopment || isOffline(defaultModel)
  const backends = new Map<string, ModelBackend>()
  if (hasOpenAi) {
    const costOf = createCostOf(prices)
    const options = {
      fetch,
      sleep,
      tokens,
      costOf,
      apiKey: apiKey || undefined,
      baseUrl: baseUrl || undefined,
    }
    backends.set('openai', createOpenAiProvider(options))
  }
  if (hasOffline) backends.set('offline', createOfflineModel({ buildIndex, tokens }))

  /** A name somebody asked for; `undefined` if nobody here serves it. */
  function find(name: string): Target | undefined {
    if (isOffline(name)) return hasOffline ? offlineTarget : undefined
    const slash = name.indexOf('/')
    if (slash < 0) return hasOpenAi ? { provider: 'openai', model: name } : undefined
    const [provider, model] = [name.slice(0, slash), name.slice(slash + 1)]
    return provider === 'openai' && hasOpenAi && model !== '' ? { provider, model } : undefined
  }

  /** The default. An unknown prefix belongs to the model's name there: `meta-llama/llama-3` on a router. */
  function findDefault(): ModelSelection {
    if (defaultModel) {
      const target =
        find(defaultModel) ?? (hasOpenAi && { provider: 'openai', model: defaultModel })
      if (target) return { ...target, substituted: false }
    } else if (hasOpenAi) {
      return { provider: 'openai', model: fallbackOpenAiModel, substituted: false }
    }
    if (hasOffline) return { ...offlineTarget, substituted: Boolean(defaultModel) }
    throw notConfigured(defaultModel)
  }

  function select(name: string | undefined): ModelSelection {
    if (!name || name === defaultModel) return findDefault()
    const target = find(name)
    return target ? { ...target, substituted: false } : { ...findDefault(), substituted: true }
  }

  function dispatch(request: ModelRequest): {
    readonly backend: ModelBackend
    readonly request: ModelRequest
  } {
    const { provider, model } = select(request.model)
    const backend = backends.get(provider)
    if (!backend) throw notConfigured(request.model)
    return { backend, request: { ...request, model } }
  }

  return {
    provider: {
      id: 'models',
      select,
      estimate: (asked) => {
        const { backend, request } = dispatch(asked)
        return backend.estimate(request)
      },
      async generate(asked, options) {
        const { backend, request } = dispatch(asked)
        return backend.generate(request, options)
      },
    },
    list: () => {
      const targets = [
        ...(backends.size > 0 ? [findDefault()] : []),
        ...(hasOffline ? [offlineTarget] : []),
      ]
      const ids = new Map(targets.map(({ provider, model }) => [`${provider}/${model}`, provider]))
      return [...ids].map(([id, provider]) => ({ id, provider }))
    },
  }
}

const offlineTarget: Target = { provider: 'offline', model: offlineModelName }

const isOffline = (name: string | undefined): boolean =>
  name === 'offline' || name === `offline/${offlineModelName}`

function notConfigured(name: string | undefined): IsolaError {
  const asked = name ? `No provider serves the model ${name}` : 'No model is configured'
  return new IsolaError(
    'model_not_configured',
    `${asked}. Set OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL, as secrets or vars.`,
  )
}
