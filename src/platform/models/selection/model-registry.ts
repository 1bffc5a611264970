import type { ModelCapabilities, ModelWindow } from '../types.ts'
import { offlineModelName } from '../offline-model.ts'
import type { ModelBackend, RegisteredBackend } from '../model-backend.ts'
import type { Target } from './provider-health.ts'

/** Which models this deployment has, by name. */
export interface ModelRegistry {
  /** A name from a request; `undefined` if no provider here serves it. */
  readonly find: (name: string) => Target | undefined
  /** A name of the operator's: an unknown prefix belongs to the model's name there (`meta-llama/llama-3` on a router). */
  readonly findSetting: (name: string) => Target | undefined
  readonly has: (provider: string) => boolean
  readonly backendOf: (provider: string) => ModelBackend
  readonly capabilitiesOf: (target: Target) => ModelCapabilities
  readonly windowOf: (target: Target) => ModelWindow | undefined
  /** The models that are known by name, provider by provider. */
  readonly known: () => readonly Target[]
}

export function createModelRegistry(registered: readonly RegisteredBackend[]): ModelRegistry {
  const providers = new Map(registered.map((one) => [one.backend.id, one]))
  const known = registered.flatMap(({ backend, models }) =>
    Object.keys(models).map((model) => ({ provider: backend.id, model })),
  )
  const inOpenAi = (model: string): Target | undefined =>
    providers.get('openai')?.isOpen ? { provider: 'openai', model } : undefined

  function find(name: string): Target | undefined {
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
