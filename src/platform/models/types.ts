import * as z from 'zod'
import type { ModelEstimate, ModelPrice, TokenPrice } from '#contracts/model.ts'
import type { MessageImage } from '#contracts/message.ts'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Json, JsonObject } from '#contracts/json.ts'

/** The name of whatever is the deployment's default. A server's own model of this name is `<provider>/default`. */
export const defaultModelName = 'default'

/**
 * The capabilities of a model, as the operator or its provider declares them; an absent capability is unknown, and
 * then tried.
 */
export interface ModelCapabilities {
  /** Input and output together. */
  readonly contextTokens?: number
  readonly images?: boolean
  readonly tools?: boolean
  readonly structuredOutput?: boolean
}

/** The needs of a request (I6). */
export interface ModelNeeds {
  readonly images: boolean
  readonly tools: boolean
  readonly structuredOutput: boolean
  /** Estimated input and the output cap. */
  readonly contextTokens: number
  /** `unlimited` if there is no ceiling. */
  readonly maxCostNanoUsd: number
}

/** A model that can serve a request, before one is taken. */
export interface ModelCandidate {
  readonly provider: string
  readonly model: string
  readonly capabilities: ModelCapabilities
  /** Its place in priority order, from 0. */
  readonly priority: number
  /** The most this call may cost: 0 if no price is known. */
  readonly estimate: ModelEstimate
  /** A price is known; 0 is a price. */
  readonly isPriced: boolean
  /** Figures of its last calls in this isolate; absent before the first. */
  readonly latencyMs?: number
}

/**
 * A host's own way to choose (latency, cost, kind of task): the highest score is taken, equal ones in priority order;
 * `-Infinity` or no number rules a candidate out. Pure, and it never throws.
 */
export type ScoreModel = (candidate: ModelCandidate, needs: ModelNeeds) => number

/** A model that this deployment serves, as `/v1/models` lists it. */
export interface ModelListing {
  readonly id: string
  readonly provider: string
}

/** A price, and where it is from, in words for an operator. */
export interface KnownPrice extends ModelPrice {
  readonly source: string
}

/** How many tokens a model takes and gives, and where that is from. */
export interface ModelWindow {
  readonly contextTokens?: number
  readonly maxOutputTokens?: number
  readonly source: string
}

/** The state of a served model. The last two fields are one isolate's recent observations, not the record. */
export interface ModelStatus {
  readonly id: string
  readonly capabilities: ModelCapabilities
  /** Absent if none is known: such a model is not asked under a cost limit. */
  readonly price?: KnownPrice
  /** The vendor's own figures. Contexts are compacted by them; no request is refused for them. */
  readonly window?: ModelWindow
  /** Epoch milliseconds: failed in a row, and passed over until then if another can take the call. */
  readonly coolingUntilMs?: number
  /** A running mean of the calls that were answered. */
  readonly latencyMs?: number
}

/** Settings of the model room, from `.dev.vars`, secrets or vars. Parsed once, in the composition. */
export interface ModelConfig {
  readonly openaiApiKey?: string
  /** Any OpenAI-compatible server; the `/v1` is part of it. */
  readonly openaiBaseUrl?: string
  /** `<provider>/<model>` or a bare name for the OpenAI-compatible provider; several in priority order, by commas. */
  readonly defaultModel?: string
  /** Further OpenAI-compatible servers. */
  readonly servers?: readonly ModelServer[]
  /** Prices of the operator's own, by `<provider>/<model>` or a model's name at any provider; they come first. */
  readonly prices?: Readonly<Record<string, ModelPrice>>
  /** Only then is the offline model the fallback. */
  readonly isDevelopment: boolean
}

/** `max_tokens` is what most servers know; OpenAI's reasoning models take the other one only. */
export type OutputCapField = 'max_tokens' | 'max_completion_tokens'

/** One OpenAI-compatible server, with its key and the models it is said to have. */
export interface ModelServer {
  readonly id: string
  readonly baseUrl: string
  readonly apiKey?: string
  /** Which field carries the output cap there; by the model's name if it is absent. */
  readonly outputCapField?: OutputCapField
  /** It may be given addresses of images, and fetches them itself. */
  readonly isPublic?: boolean
  /** None: any name is tried there. */
  readonly models: readonly DeclaredModel[]
}

export interface DeclaredModel extends ModelCapabilities {
  readonly name: string
  readonly price?: TokenPrice
}

/** A part of a message, in the order in which it was said. */
export type MessagePart =
  | { readonly type: 'text'; readonly text: string }
  | ({ readonly type: 'image' } & Omit<MessageImage, 'offset'>)

/** A text and the pictures in it. Each picture knows its place. */
export interface TextWithImages {
  readonly text: string
  readonly images?: readonly MessageImage[]
}

/** Between two texts of one message. */
export const betweenTexts = '\n'

/** The parts of a message in their order: the inverse of `fromParts`. A text without images is one part. */
export function toParts({ text, images = [] }: TextWithImages): readonly MessagePart[] {
  const place = { from: 0 }
  const textTo = (to: number): readonly MessagePart[] => {
    const { from } = place
    if (to <= from) return []
    place.from = to
    const isAfterText = from > 0 && text.startsWith(betweenTexts, from)
    const piece = text.slice(isAfterText ? from + betweenTexts.length : from, to)
    return piece === '' ? [] : [{ type: 'text', text: piece }]
  }
  const placed = images.flatMap(({ offset = text.length, ...image }): readonly MessagePart[] => [
    ...textTo(Math.min(offset, text.length)),
    { type: 'image', ...image },
  ])
  return [...placed, ...textTo(text.length)]
}

const id = z
  .string()
  .max(24)
  .regex(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'must be lowercase words joined by single hyphens')
  .refine((name) => name !== 'offline' && name !== 'workers-ai', 'is built in; choose another id')

const model = z.lazy(() =>
  z
    .strictObject({
      name: z.string().min(1).max(200),
      context_tokens: z.int().min(1).optional(),
      images: z.boolean().optional(),
      tools: z.boolean().optional(),
      structured_output: z.boolean().optional(),
      input_usd_per_million: z.number().min(0).optional(),
      output_usd_per_million: z.number().min(0).optional(),
    })
    .refine(
      (price) =>
        (price.input_usd_per_million === undefined) ===
        (price.output_usd_per_million === undefined),
      'needs both prices, or neither',
    ),
)

const providers = z
  .array(
    z.lazy(() =>
      z.strictObject({
        id,
        base_url: z.url({ protocol: /^https?$/ }),
        /** The name of a secret, never its value. Isola's own secrets open no model server. */
        api_key_secret_name: z
          .string()
          .regex(/^[A-Z][A-Z0-9_]{0,63}$/, 'must be the name of a secret, such as BACKUP_API_KEY')
          .refine((name) => !name.startsWith('ISOLA_'), 'may not be one of the ISOLA_ settings')
          .optional(),
        /** The field in which the server takes the output cap, if the model's name does not tell. */
        output_cap_field: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
        /**
         * The server may get addresses of images and fetches them itself: only for servers outside of private
         * networks.
         */
        public: z.boolean().optional(),
        models: z.array(model).max(100).default([]),
      }),
    ),
  )
  .max(16)
  .superRefine((list, context) => {
    for (const [index, { id: name }] of list.entries()) {
      if (list.findIndex((other) => other.id === name) === index) continue
      context.addIssue({ code: 'custom', path: [index, 'id'], message: `is there twice: ${name}` })
    }
  })

/** A setting that is JSON; empty or unset is `none`. */
const jsonText = (none: unknown) =>
  z
    .string()
    .optional()
    .transform((text, context): unknown => {
      if (text === undefined || text.trim() === '') return none
      try {
        return JSON.parse(text)
      } catch {
        context.addIssue({ code: 'custom', message: 'is not JSON' })
        return z.NEVER
      }
    })

/** `ISOLA_PROVIDERS`: further OpenAI-compatible servers, as JSON. Empty or unset: none. */
export const providerSettings = jsonText([]).pipe(providers)

/** `ISOLA_PRICES`: prices of models here, by `<provider>/<model>` or a model's name, as JSON. 0 is a price. */
export const priceSettings = jsonText({}).pipe(
  z
    .record(
      z.string().min(1).max(300),
      z.lazy(() =>
        z
          .strictObject({
            input_usd_per_million: z.number().min(0),
            output_usd_per_million: z.number().min(0),
          })
          .transform(({ input_usd_per_million, output_usd_per_million }): TokenPrice => ({
            inputUsdPerMillion: input_usd_per_million,
            outputUsdPerMillion: output_usd_per_million,
          })),
      ),
    )
    .refine((prices) => Object.keys(prices).length <= 500, 'has more than 500 prices'),
)

/** Under which names the keys of model servers are, whatever else is wrong with the setting. */
export const keyNamesIn = (text: string): readonly string[] =>
  [...text.matchAll(/"api_key_secret_name"\s*:\s*"([^"]+)"/g)].flatMap(([, name]) => name ?? [])

/**
 * The servers with their keys. Throws `config_invalid` for a key that is named and not there: without it the server
 * would refuse every call.
 */
export function toModelServers(
  list: z.infer<typeof providers>,
  secretOf: (name: string) => unknown,
): readonly ModelServer[] {
  return list.map((settings, index) => {
    const { id: name, base_url: baseUrl, api_key_secret_name: secret, models } = settings
    const { output_cap_field: outputCapField, public: isPublic } = settings
    const apiKey = secret === undefined ? undefined : secretOf(secret)
    if (secret !== undefined && (typeof apiKey !== 'string' || apiKey === '')) {
      throw new IsolaError(
        'config_invalid',
        `ISOLA_PROVIDERS.${index}.api_key_secret_name: there is no secret ${secret}; set it with: wrangler ` +
          `secret put ${secret}`,
      )
    }
    return {
      id: name,
      baseUrl,
      ...(typeof apiKey === 'string' && { apiKey }),
      ...defined({ outputCapField }),
      ...(isPublic && { isPublic }),
      models: models.map(toDeclared),
    }
  })
}

function toDeclared(settings: z.infer<typeof model>): DeclaredModel {
  const { name, context_tokens: contextTokens, images, tools } = settings
  const { structured_output: structuredOutput } = settings
  const { input_usd_per_million: input, output_usd_per_million: output } = settings
  return {
    name,
    ...defined({ contextTokens, images, tools, structuredOutput }),
    ...(input !== undefined &&
      output !== undefined && {
        price: { inputUsdPerMillion: input, outputUsdPerMillion: output },
      }),
  }
}

/**
 * The same value with U+FFFD in the place of each lone half of a surrogate pair, names of properties included: values
 * from outside may have such halves, and strict servers refuse them. Costs nothing where there are none.
 *
 * @param value At most some hundred levels deep: it calls itself.
 */
export function toWellFormedJson<T extends Json>(value: T): T {
  return isWellFormed(value) ? value : (wellFormed(value) as T)
}

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(([key, part]) => key.isWellFormed() && isWellFormed(part))
}

function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  const parts = Object.entries(value).map(([key, part]) => [key.toWellFormed(), wellFormed(part)])
  return Object.fromEntries(parts) as JsonObject
}
