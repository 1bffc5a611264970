import { APIError } from 'openai/error'
import type { OutputCapField } from '../types.ts'
import type { ModelParameters } from '#contracts/model.ts'

/** How one server wants to be asked for one model. */
export interface Dialect {
  readonly capField: OutputCapField
  /** It takes its own temperature only. */
  readonly omitsTemperature?: boolean
  /** It refuses what it sent with its own calls. */
  readonly omitsOpaque?: boolean
}

/** Facts that servers' errors revealed about their models, as long as this object lives. */
export interface Dialects {
  readonly of: (model: string) => Dialect
  /** Stores a dialect that worked. */
  readonly learn: (model: string, dialect: Dialect) => void
}

/** Names that a server answered to; more than it has are not kept. */
const maxKept = 500

/** @param setting The operator's word for this server; without it the model's name decides. */
export function createDialects(
  baseUrl: string | undefined,
  setting: OutputCapField | undefined,
): Dialects {
  const learned = new Map<string, Dialect>()
  const isOpenAi = isAtOpenAi(baseUrl)
  return {
    of: (model) => learned.get(model) ?? { capField: setting ?? capFieldFor(model, isOpenAi) },
    learn(model, dialect) {
      if (learned.size >= maxKept) learned.clear()
      learned.set(model, dialect)
    },
  }
}

/**
 * `max_tokens` is what compatible servers know; OpenAI itself deprecated it and its reasoning models refuse it behind
 * any gateway, while all of its models take `max_completion_tokens`.
 */
function capFieldFor(model: string, isOpenAi: boolean): OutputCapField {
  const name = model.slice(model.lastIndexOf('/') + 1)
  return isOpenAi || isReasoning.test(name) ? 'max_completion_tokens' : 'max_tokens'
}

function isAtOpenAi(baseUrl: string | undefined): boolean {
  const host = baseUrl === undefined || !URL.canParse(baseUrl) ? baseUrl : new URL(baseUrl).hostname
  return host === undefined || host.endsWith('api.openai.com')
}

/** `gpt-5`, `gpt-5.1-mini`, `o3`, `o4-mini-2025-04-16`: not `gpt-oss-120b`, not `gpt-4o`. */
const isReasoning = /^(?:gpt-(?:[5-9]|\d{2,})|o\d+)(?![a-z0-9])/i

export interface Refused {
  readonly field: 'cap' | 'temperature' | 'opaque'
  /** How to ask instead. */
  readonly instead: Dialect
}

/** The field that a server refused and takes in another form, if its error names one. */
export function refusedField(
  error: unknown,
  dialect: Dialect,
  { temperature }: ModelParameters,
): Refused | undefined {
  if (!(error instanceof APIError) || ![400, 422].includes(error.status ?? 0)) return undefined
  const { message } = error
  if (!isUnknownToIt.test(message)) return undefined
  const isNamed = (field: string) => error.param === field || message.includes(field)
  const { capField } = dialect
  if (isNamed(capField)) {
    const other = capField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    return { field: 'cap', instead: { ...dialect, capField: other } }
  }
  if (temperature !== undefined && !dialect.omitsTemperature && isNamed('temperature'))
    return { field: 'temperature', instead: { ...dialect, omitsTemperature: true } }
  if (!dialect.omitsOpaque && namesOpaque.test(message))
    return { field: 'opaque', instead: { ...dialect, omitsOpaque: true } }
  return undefined
}

/** The names of fields that services send with their calls. */
const namesOpaque =
  /reasoning|thinking|thought|signature|extra_content|provider_specific_fields|provider_metadata/i

/** A cap that is too large is named too, and no other field would help there. */
const isUnknownToIt =
  /unsupported|not supported|does not support|unrecognized|unknown|unexpected|extra|not permitted|not allowed/i
