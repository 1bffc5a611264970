import type { ModelConfig } from '../types.ts'
import { IsolaError } from '#contracts/errors.ts'
import { defaultModelName } from '../types.ts'
import { offlineModelName } from '../offline-model.ts'
import type { ModelRegistry } from './model-registry.ts'
import type { Target } from './provider-health.ts'

/** Used when a key or base URL is set but no model: small, cheap and known to most compatible servers. */
const fallbackOpenAiModel = 'gpt-4o-mini'

/** The models that may answer, in priority order. */
export interface PriorityList {
  readonly targets: readonly [Target, ...Target[]]
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

  function implicitDefault(): Target | undefined {
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

const offlineTarget: Target = { provider: 'offline', model: offlineModelName }

const isSame = (one: Target, other: Target): boolean =>
  one.provider === other.provider && one.model === other.model

function notConfigured(name: string | undefined): IsolaError {
  const asked = name ? `No provider serves the model ${name}` : 'No model is configured'
  return new IsolaError(
    'model_not_configured',
    `${asked}. Set OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL, or ISOLA_PROVIDERS, as secrets or vars, or add the AI binding.`,
  )
}
