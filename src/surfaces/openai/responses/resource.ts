import { defined } from '#contracts/defined.ts'
import type { JsonObject } from '#contracts/json.ts'
import { toParts, type TextWithImages } from '#platform/models/types.ts'
import type { ClientCall, TokenCount } from '../fold.ts'
import type { ClientTool } from '../client-tools.ts'
import {
  type PlaceInSession,
  toCallId,
  toFunctionCallId,
  toMessageId,
  toResponseId,
} from '../wire-ids.ts'
import type { ResponseRequest } from './response-request.ts'

/** Kept beside what is shown: functions of a namespace, by the name the model sees. */
const namespacesField = 'isola_namespaces'

/**
 * The fields of the request that a response repeats. Stored with the run, so that it reads the same later.
 *
 * @param conversation Id of the conversation it belongs to, if it was sent to one.
 */
export function toEcho(
  request: ResponseRequest,
  tools: readonly ClientTool[],
  conversation: string | undefined,
): JsonObject {
  const { text, reasoning } = request
  const spaced = tools.filter(({ namespace }) => namespace !== undefined)
  const echo = {
    model: request.model,
    previous_response_id: request.previous_response_id ?? null,
    conversation: conversation === undefined ? null : { id: conversation },
    instructions: request.instructions ?? null,
    tools: tools.map(({ name, description, inputSchema, strict }) => ({
      type: 'function',
      name,
      description,
      parameters: inputSchema,
      strict,
    })),
    tool_choice: request.tool_choice ?? 'auto',
    truncation: request.truncation ?? 'disabled',
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    text: {
      format: toFormat(text?.format),
      ...(text?.verbosity && { verbosity: text.verbosity }),
    },
    temperature: request.temperature ?? 1,
    top_p: request.top_p ?? 1,
    presence_penalty: request.presence_penalty ?? 0,
    frequency_penalty: request.frequency_penalty ?? 0,
    top_logprobs: request.top_logprobs ?? 0,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    store: request.store ?? true,
    background: request.background ?? false,
    service_tier: 'default',
    metadata: request.metadata ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    ...(spaced.length > 0 && {
      [namespacesField]: Object.fromEntries(
        spaced.map(({ name, namespace, own }) => [name, { namespace, own }]),
      ),
    }),
  }
  return echo as unknown as JsonObject // made of what JSON.parse made
}

/** Under which name, and in which namespace, a client knows the tool. */
function knownAs(tool: string, echo: JsonObject): { own: string; namespace?: string } {
  const spaces = (echo[namespacesField] ?? {}) as Readonly<
    Record<string, { readonly own: string; readonly namespace: string } | undefined>
  >
  return (Object.hasOwn(spaces, tool) ? spaces[tool] : undefined) ?? { own: tool }
}

function toFormat(format: NonNullable<ResponseRequest['text']>['format']): object {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' }
  const { type, name, description, schema, strict } = format
  return {
    type,
    name,
    description: description ?? null,
    schema: schema ?? null,
    strict: strict ?? false,
  }
}

/** The states of the Open Responses specification. */
export type ResponseStatus =
  | 'queued'
  | 'in_progress'
  | 'completed'
  | 'incomplete'
  | 'failed'
  | 'cancelled'

/** The fields of a response that stay the same from its beginning to its end. */
export interface ResponseHead {
  readonly place: PlaceInSession
  /** Epoch seconds. */
  readonly createdAt: number
  readonly echo: JsonObject
}

/** The fields of a response that change as it goes. */
export interface ResponseBody {
  readonly status: ResponseStatus
  readonly output?: readonly object[]
  readonly completedAtMs?: number
  readonly tokens?: TokenCount
  readonly error?: { readonly code: string; readonly message: string }
  readonly incompleteReason?: string
  /** The limit that was reached, and how to go on. */
  readonly incompleteMessage?: string
}

/** `ResponseResource` of the Open Responses specification: every field is there, many are `null`. */
export function toResource({ place, createdAt, echo }: ResponseHead, body: ResponseBody) {
  const { status, output = [], completedAtMs, tokens, error } = body
  const { incompleteReason: reason, incompleteMessage: message } = body
  const { [namespacesField]: _spaces, ...shown } = echo
  return {
    id: toResponseId(place),
    object: 'response',
    created_at: createdAt,
    completed_at: completedAtMs === undefined ? null : Math.floor(completedAtMs / 1_000),
    status,
    incomplete_details: reason === undefined ? null : { reason, ...defined({ message }) },
    error: error ?? null,
    ...shown,
    output,
    usage: tokens ? toUsage(tokens) : null,
  }
}

/** Tokens as every answer of this API says them. */
export function toUsage({ inputTokens, outputTokens }: TokenCount) {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  }
}

/** A piece of content that is text. */
export const textPart = (text: string) => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
})

/** A user's message as parts: texts, and images by their URLs, in their order. */
export const inputParts = (said: TextWithImages): readonly object[] =>
  toParts(said).map((part) =>
    part.type === 'text'
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' },
  )

/** A message of the model as an item; its id follows from session, run and turn. Without a text it has just begun. */
export function messageItem(
  place: PlaceInSession,
  message: { readonly turn: number; readonly text?: string; readonly status: string },
) {
  const { turn, text, status } = message
  return {
    type: 'message',
    id: toMessageId(place, turn),
    status,
    role: 'assistant',
    content: text === undefined ? [] : [textPart(text)],
  }
}

/** A function of a namespace goes out under its own name. */
export function functionCallItem(
  { place, echo }: ResponseHead,
  call: ClientCall,
  status: 'in_progress' | 'completed',
) {
  const { own: name, namespace } = knownAs(call.tool, echo)
  return {
    type: 'function_call',
    id: toFunctionCallId(place, call.call),
    call_id: toCallId(place, call.call),
    name,
    ...defined({ namespace }),
    arguments: status === 'completed' ? JSON.stringify(call.input) : '',
    status,
  }
}
