import { defined } from '#contracts/defined.ts'
import * as z from 'zod'
import type { DeclaredModel, ModelServer } from './config.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { TokenPrice } from '#contracts/model.ts'

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
        `ISOLA_PROVIDERS.${index}.api_key_secret_name: there is no secret ${secret}; set it with: wrangler secret put ${secret}`,
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
