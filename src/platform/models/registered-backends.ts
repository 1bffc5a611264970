import type { Outbound } from '#contracts/outbound.ts'
import type { Clock } from '#contracts/sources.ts'
import { type TokenEstimator, createTokenEstimator } from './estimate.ts'
import type { ModelBackend, RegisteredBackend } from './estimate.ts'
import { createOpenAiProvider, type OpenAiProviderOptions } from './openai-provider.ts'
import {
  type PriceOf,
  firstPriceOf,
  givenPrices,
  readPriceFile,
  type WindowOf,
  vendorOf,
} from './prices.ts'
import { createBindingFetch, type WorkersAi } from './workers-ai/binding-fetch.ts'
import { fromWorkersAi } from './workers-ai/translate.ts'
import type { ModelConfig, ModelServer, ModelCapabilities } from './types.ts'
import type { TokenPrice } from '#contracts/model.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import { createOfflineModel, offlineModelName } from './offline-model.ts'
import { priceFile } from './price-data.ts'
import { workersAiModels } from './workers-ai/model-table.ts'

/**
 * Answers through the `AI` binding: no key, billed to the account that the Worker runs in. The limits, retries and
 * checks are those of the OpenAI-compatible provider, since the binding is a server like any other behind it.
 */
export function createWorkersAiProvider(options: {
  readonly ai: WorkersAi
  readonly over: Outbound['over']
  readonly sleep: Clock['sleep']
  readonly tokens: TokenEstimator
  readonly priceOf: PriceOf
}): ModelBackend {
  const { ai, over, sleep, tokens, priceOf } = options
  return createOpenAiProvider({
    id: 'workers-ai',
    // Never reached: requests go to the binding.
    baseUrl: 'https://workers-ai.invalid/v1',
    send: over(createBindingFetch(ai)),
    sleep,
    tokens,
    priceOf,
    translate: fromWorkersAi,
  })
}

export interface BackendDeps extends Pick<Outbound, 'send' | 'over'> {
  readonly sleep: Clock['sleep']
  /** The search that the offline model picks tools by. */
  readonly buildIndex: BuildSearchIndex
  /** Absent where the deployment has no such binding. Not used in development, which runs without an account. */
  readonly ai?: WorkersAi | undefined
  readonly tokens?: TokenEstimator
  /** Told of each failed call to a server, for an operator's eyes. */
  readonly onFailed?: OpenAiProviderOptions['onFailed']
}

/** Reads text only; it fits JSON to a schema where it can. */
const offlineCapabilities: ModelCapabilities = {
  images: false,
  tools: true,
  structuredOutput: true,
}

/** Every provider that the settings name, with the models it is said to have. A server `openai` replaces OPENAI_*. */
export function createBackends(
  config: ModelConfig,
  deps: BackendDeps & { readonly hasOffline: boolean },
): readonly RegisteredBackend[] {
  const { send, over, sleep, buildIndex, ai, tokens = createTokenEstimator(), hasOffline } = deps
  const { openaiApiKey: apiKey, openaiBaseUrl: baseUrl, servers = [] } = config
  const { isDevelopment } = config
  const common = { send, sleep, tokens, onFailed: deps.onFailed }
  const hasOpenAi = Boolean(apiKey || baseUrl) && !servers.some(({ id }) => id === 'openai')
  const hasWorkersAi = ai !== undefined && !isDevelopment
  const operatorPrices = pricesFor(config.prices, [
    ...(hasOpenAi ? ['openai'] : []),
    ...servers.map(({ id }) => id),
    ...(hasWorkersAi ? ['workers-ai'] : []),
  ])
  return [
    ...(hasOpenAi ? [openAi({ apiKey: apiKey || undefined, baseUrl: baseUrl || undefined })] : []),
    ...servers.map(furtherServer),
    ...(hasWorkersAi ? [workersAi(ai)] : []),
    ...(hasOffline ? [offline()] : []),
  ]

  function openAi(server: Pick<OpenAiProviderOptions, 'apiKey' | 'baseUrl'>): RegisteredBackend {
    const file = readPriceFile(priceFile, vendorOf(server.baseUrl))
    const priceOf = firstPriceOf(operatorPrices('openai'), file.priceOf)
    return {
      backend: createOpenAiProvider({ ...common, ...server, priceOf }),
      models: {},
      isOpen: true,
      isPublic: false,
      windowOf: file.windowOf,
    }
  }

  function furtherServer({ models, ...server }: ModelServer): RegisteredBackend {
    const file = readPriceFile(priceFile, vendorOf(server.baseUrl))
    const priceOf = firstPriceOf(
      operatorPrices(server.id),
      givenPrices(pricesOf(models), 'ISOLA_PROVIDERS'),
      file.priceOf,
    )
    return {
      backend: createOpenAiProvider({ ...common, ...server, priceOf }),
      models: capabilitiesOf(models),
      isOpen: models.length === 0,
      isPublic: server.isPublic === true,
      windowOf: declaredWindow(models, 'ISOLA_PROVIDERS', file.windowOf),
    }
  }

  function workersAi(binding: WorkersAi): RegisteredBackend {
    const file = readPriceFile(priceFile, 'cloudflare')
    const priceOf = firstPriceOf(operatorPrices('workers-ai'), file.priceOf)
    return {
      backend: createWorkersAiProvider({ ai: binding, over, sleep, tokens, priceOf }),
      models: capabilitiesOf(workersAiModels),
      isOpen: true,
      isPublic: false,
      windowOf: declaredWindow(workersAiModels, 'Workers AI table', file.windowOf),
    }
  }

  function offline(): RegisteredBackend {
    return {
      backend: createOfflineModel({ buildIndex, tokens }),
      models: { [offlineModelName]: offlineCapabilities },
      isOpen: false,
      // It takes no images at all.
      isPublic: true,
      windowOf: () => undefined,
    }
  }
}

/**
 * The entries of `ISOLA_PRICES` for a provider: a name with the provider comes before a name of the model alone. A
 * name with another one of `providers` is no model's name here, though a router may have a model of that name.
 */
const pricesFor =
  (prices: ModelConfig['prices'] = {}, providers: readonly string[]) =>
  (provider: string): PriceOf => {
    const named = Object.entries(prices).map(([name, price]) => {
      const [prefix = '', ...rest] = name.split('/')
      return { prefix, rest: rest.join('/'), name, price }
    })
    const others = providers.filter((id) => id !== provider)
    const anywhere = named.filter(({ prefix, rest }) => rest === '' || !others.includes(prefix))
    const own = named.filter(({ prefix, rest }) => rest !== '' && prefix === provider)
    const entries = [
      ...anywhere.map(({ name, price }) => [name, price] as const),
      ...own.map(({ rest, price }) => [rest, price] as const),
    ]
    return givenPrices(Object.fromEntries(entries), 'ISOLA_PRICES')
  }

const pricesOf = (models: ModelServer['models']): Record<string, TokenPrice> =>
  Object.fromEntries(models.flatMap(({ name, price }) => (price ? [[name, price]] : [])))

/** The operator's declaration comes before the price file. */
function declaredWindow(
  models: ModelServer['models'],
  source: string,
  windowOf: WindowOf,
): WindowOf {
  return (model) => {
    const { contextTokens } = models.find(({ name }) => name === model) ?? {}
    return contextTokens === undefined ? windowOf(model) : { contextTokens, source }
  }
}

const capabilitiesOf = (models: ModelServer['models']): Record<string, ModelCapabilities> =>
  Object.fromEntries(models.map(({ name, price: _price, ...capabilities }) => [name, capabilities]))
