import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import { jsonSchema } from '#features/mcp-servers/types.ts'
import type { ResponseFormat } from '#contracts/model.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { chatTools, toolChoice } from './client-tools.ts'

import { imageDetail, imageUrl, speakerName } from './said-parts.ts'

const roles = 'system, developer, user, assistant or tool'
const textPart = z.object({ type: z.literal('text'), text: z.string() })
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: imageUrl, detail: imageDetail.nullish() }),
})
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() })

const textContent = z.union([z.string(), parts('text', [textPart])])
const userContent = z.union([z.string(), parts('text or image_url', [textPart, imagePart])])
const assistantContent = z.union([z.string(), parts('text or refusal', [textPart, refusalPart])])
const toolCall = z.object({
  id: z.string().min(1).max(200),
  type: z.literal('function'),
  function: z.object({ name: z.string().min(1).max(64), arguments: z.string() }),
})

/** The name of the speaker, where several speak. */
const name = speakerName.nullish()

const message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content: textContent, name }),
    z.object({ role: z.literal('developer'), content: textContent, name }),
    z.object({ role: z.literal('user'), content: userContent, name }),
    z.object({
      role: z.literal('assistant'),
      content: assistantContent.nullish(),
      tool_calls: z.array(toolCall).nullish(),
      name,
    }),
    z.object({
      role: z.literal('tool'),
      tool_call_id: z.string().min(1).max(200),
      // A tool's output may be an image, or nothing.
      content: userContent.nullable(),
      name,
    }),
  ],
  { error: (issue) => (issue.code === 'invalid_union' ? `must be ${roles}` : undefined) },
)

/** A schema that the text is to fit, as both wires spell it. */
export const jsonSchemaFormat = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -'),
  description: z.string().nullish(),
  schema: jsonSchema.nullish(),
  strict: z.boolean().nullish(),
})

/** The format of the answer that a request asks for; `undefined` for plain text. */
export function toResponseFormat(
  type: 'text' | 'json_object' | 'json_schema' | undefined,
  format: z.infer<typeof jsonSchemaFormat> | undefined,
): ResponseFormat | undefined {
  if (type === 'json_object') return { type }
  if (type !== 'json_schema' || !format) return undefined
  const { name, schema, strict } = format
  // It came out of JSON.parse.
  const shape = (schema ?? {}) as JsonObject
  return { type, name, schema: shape, ...(typeof strict === 'boolean' && { strict }) }
}

/** The fields that are read of a chat completion request; every other field is ignored, `null` means absent. */
const chatRequest = z.object({
  model: z.string().min(1).max(200),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  seed: z.int().nullish(),
  n: z.int().min(1).nullish(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({ type: z.literal('json_schema'), json_schema: jsonSchemaFormat }),
    ])
    .nullish(),
  tools: chatTools.nullish(),
  functions: z.array(z.unknown()).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  function_call: z.union([z.string(), z.looseObject({})]).nullish(),
})

/** The parsed body of `POST /v1/chat/completions`, without unknown fields. */
export type ChatRequest = z.infer<typeof chatRequest>
/** One message of a chat request, of any role. */
export type ChatMessage = z.infer<typeof message>

/** Throws `request_invalid` or `request_unsupported_parameter`, with the field as `param`. */
export function parseChatRequest(body: JsonObject): ChatRequest {
  const request = parseFields(chatRequest, body)
  if (request.functions?.length) throw unsupported('functions', 'Send tools instead.')
  if ((request.function_call ?? 'none') !== 'none') {
    throw unsupported('function_call', 'Send tool_choice instead.')
  }
  if ((request.n ?? 1) !== 1)
    throw unsupported('n', 'Only one choice can be made: send 1 or leave it out.')
  return request
}

function unsupported(param: string, message: string): IsolaError {
  return new IsolaError('request_unsupported_parameter', `${param}: ${message}`, { param })
}

type Part = typeof textPart | typeof imagePart | typeof refusalPart

function parts<const T extends readonly [Part, ...Part[]]>(kinds: string, options: T) {
  const error = (issue: { readonly code: string }) =>
    issue.code === 'invalid_union'
      ? `is not a kind of content that is taken here: send ${kinds}`
      : undefined
  return z.array(z.discriminatedUnion('type', options, { error })).min(1)
}
