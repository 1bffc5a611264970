import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { jsonSchemaFormat } from '../chat-request.ts'
import { responseTools, toolChoice } from '../client-tools.ts'
import { inputItem } from './input-items.ts'

const text = z.object({
  format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({ type: z.literal('json_schema'), ...jsonSchemaFormat.shape }),
    ])
    .nullish(),
  verbosity: z.string().nullish(),
})
/** At most 16 pairs of text, keys of 64 and values of 512 characters. */
export const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'must have at most 16 pairs')

/** The fields that are read of a request for a response; every other field is ignored, `null` means absent. */
const responseRequest = z.object({
  model: z.string().min(1).max(200),
  input: z.union([z.string().min(1, 'is empty: say what is wanted'), z.array(inputItem).min(1)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().min(1, 'is empty: leave it out to begin').nullish(),
  conversation: z.union([z.string(), z.object({ id: z.string() })]).nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  store: z.boolean().nullish(),
  metadata: metadata.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  tools: responseTools.nullish(),
  tool_choice: toolChoice.nullish(),
  text: text.nullish(),
  reasoning: z.object({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  service_tier: z.string().nullish(),
  safety_identifier: z.string().max(64).nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
})

/** The parsed body of `POST /v1/responses`, without unknown fields. */
export type ResponseRequest = z.infer<typeof responseRequest>

/** Throws `request_invalid` or `request_unsupported_parameter`, with the field as `param`. */
export function parseResponseRequest(body: JsonObject): ResponseRequest {
  const request = parseFields(responseRequest, body)
  if (request.previous_response_id && request.conversation) {
    const message = 'conversation: cannot be sent together with previous_response_id.'
    throw new IsolaError('request_invalid', message, { param: 'conversation' })
  }
  if (request.background === true && request.store === false) {
    const message =
      'background: a response that is not stored could never be read; send store true.'
    throw new IsolaError('request_invalid', message, { param: 'background' })
  }
  return request
}
