import type { ModelConfig, ModelServer } from '#contracts/config.ts'
import type { ModelCapabilities } from '#contracts/model.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'
import type { Clock } from '#contracts/sources.ts'
import { createTokenEstimator, type TokenEstimator } from './estimate.ts'
import type { RegisteredBackend } from './model-backend.ts'
import { createOfflineModel, offlineModelName } from './offline-model.ts'
import { createOpenAiProvider } from './openai-provider.ts'
import { prices } from './price-data.ts'
import { createCostOf } from './prices.ts'
import { createWorkersAiProvider } from './workers-ai-provider.ts'
import type { WorkersAi } from './workers-ai/binding-fetch.ts'
import { workersAiModels } from './workers-ai/model-table.ts'

export interface BackendDeps {
  readonly fetch: typeof fetch
  readonly sleep: Clock['sleep']
  /** The search that the offline model picks tools by. */
  readonly buildIndex: BuildSearchIndex
  /** Absent where the deployment has no such binding. Not used in development, which runs without an account. */
  readonly ai?: WorkersAi | undefined
  readonly tokens?: TokenEstimator
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
  const { fetch, sleep, buildIndex, ai, tokens = createTokenEstimator(), hasOffline } = deps
  const { openaiApiKey: apiKey, openaiBaseUrl: baseUrl, servers = [] } = config
  const common = { fetch, sleep, tokens }
  const hasOpenAi = Boolean(apiKey || baseUrl) && !servers.some(({ id }) => id === 'openai')
  return [
    ...(hasOpenAi
      ? [
          {
            backend: createOpenAiProvider({
              ...common,
              costOf: createCostOf(prices),
              apiKey: apiKey || undefined,
              baseUrl: baseUrl || undefined,
            }),
            models: {},
            isOpen: true,
          },
        ]
      : []),
    ...servers.map((server) => ({
      backend: createOpenAiProvider({
        ...common,
        id: server.id,
        apiKey: server.apiKey,
        baseUrl: server.baseUrl,
        costOf: createCostOf({ ...prices, models: { ...prices.models, ...pricesOf(server) } }),
      }),
      models: capabilitiesOf(server.models),
      isOpen: server.models.length === 0,
    })),
    ...(ai && !config.isDevelopment
      ? [
          {
            backend: createWorkersAiProvider({ ai, sleep, tokens }),
            models: capabilitiesOf(workersAiModels),
            isOpen: true,
          },
        ]
      : []),
    ...(hasOffline
      ? [
          {
            backend: createOfflineModel({ buildIndex, tokens }),
            models: { [offlineModelName]: offlineCapabilities },
            isOpen: false,
          },
        ]
      : []),
  ]
}

const pricesOf = ({ models }: ModelServer) =>
  Object.fromEntries(models.flatMap(({ name, price }) => (price ? [[name, price]] : [])))

const capabilitiesOf = (models: ModelServer['models']): Record<string, ModelCapabilities> =>
  Object.fromEntries(models.map(({ name, price: _price, ...capabilities }) => [name, capabilities]))
