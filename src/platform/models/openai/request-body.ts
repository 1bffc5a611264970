import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { OpenAI } from 'openai'
import type { Json } from '#contracts/json.ts'
import type { Message, ToolCall } from '#contracts/message.ts'
import { toParts, type MessagePart } from '../types.ts'
import type {
  ModelCallOptions,
  ModelRequest,
  ToolChoice,
  ToolDefinition,
} from '#contracts/model.ts'
import { outputCap } from '../estimate.ts'
import type { Dialect } from './dialect.ts'
import { ofService } from './opaque-fields.ts'
import { toStrictSchema } from './tool-schema.ts'

type Body = OpenAI.Chat.Completions.ChatCompletionCreateParams
type BodyMessage = OpenAI.Chat.Completions.ChatCompletionMessageParam
type BodyText = OpenAI.Chat.Completions.ChatCompletionContentPartText
type BodyPart = OpenAI.Chat.Completions.ChatCompletionContentPart

/** The JSON of one request, for the dialect of its model. */
export type WriteBody = (
  request: ModelRequest & { readonly model: string },
  dialect: Dialect,
  call: Pick<ModelCallOptions, 'isUnwatched'> & {
    /** It gets its own opaque fields back. */
    readonly service?: string
  },
) => string

/** Whether a server may be given the address of an image, to fetch it where it is. */
interface ImageRule {
  readonly takesAddresses: boolean
}

/**
 * Writes requests as `POST /chat/completions` takes them: streamed, with usage, or in one piece if no reader follows
 * the reply. Every call sends the tools and the conversation again: each tool and message is written once and cached,
 * by identity.
 */
export function createBodyWriter(server: ImageRule = { takesAddresses: false }): WriteBody {
  const toolText = writtenOnce(({ name, description, inputSchema }: ToolDefinition) => ({
    type: 'function' as const,
    function: {
      name,
      // Some services take no empty one.
      ...(description !== '' && { description }),
      parameters: toStrictSchema(inputSchema),
    },
  }))
  const plainText = writtenOnce((message: Message) => toBodyMessage(message, server))
  const textsFor = new Map<string, typeof plainText>()
  function textFor(service: string): typeof plainText {
    const known = textsFor.get(service)
    if (known) return known
    const text = writtenOnce((message: Message) => toBodyMessage(message, server, service))
    if (textsFor.size >= maxServices) textsFor.clear()
    textsFor.set(service, text)
    return text
  }

  return (request, dialect, { isUnwatched, service }) => {
    const isPlain = service === undefined || dialect.omitsOpaque === true
    const opaqueText = isPlain ? plainText : textFor(service)
    const messageText = (message: Message) =>
      hasOpaque(message) ? opaqueText(message) : plainText(message)

    const { messages, tools } = request
    const rest = JSON.stringify({
      ...toBody(request, dialect),
      ...(isUnwatched
        ? { stream: false }
        : { stream: true, stream_options: { include_usage: true } }),
    } satisfies Omit<Body, 'messages'>)
    const given = tools.length > 0 ? `,"tools":[${tools.map(toolText).join(',')}]` : ''
    return `${rest.slice(0, -1)},"messages":[${messages.map(messageText).join(',')}]${given}}`
  }
}

/** Families of models at one address. */
const maxServices = 50

const hasOpaque = (message: Message): boolean =>
  message.role === 'assistant' && (message.toolCalls ?? []).some(({ opaque }) => opaque)

function writtenOnce<K extends object>(
  toBody: (one: K) => BodyMessage | OpenAI.Chat.Completions.ChatCompletionFunctionTool,
): (one: K) => string {
  const written = new WeakMap<K, string>()
  return (one) => {
    const before = written.get(one)
    if (before !== undefined) return before
    const text = JSON.stringify(toBody(one))
    written.set(one, text)
    return text
  }
}

/** All but the tools and the messages, and how the answer comes. */
function toBody(
  request: ModelRequest & { readonly model: string },
  { capField, omitsTemperature }: Dialect,
): Omit<Body, 'messages'> {
  const { model, tools, parameters } = request
  const { temperature, topP, stop, seed, toolChoice, parallelToolCalls } = parameters
  const format = formatOf(request)
  return {
    model,
    // Always sent: the reservation counts on this cap (docs/design.md invariant 3).
    [capField]: outputCap(request),
    ...(temperature !== undefined && !omitsTemperature && { temperature }),
    ...defined({ top_p: topP }),
    ...(stop !== undefined && stop.length > 0 && { stop: [...stop] }),
    ...defined({ seed }),
    ...(tools.length > 0 && {
      // Without tools a service refuses the field.
      ...(toolChoice !== undefined && { tool_choice: toBodyChoice(toolChoice) }),
      ...(parallelToolCalls === false && { parallel_tool_calls: false }),
    }),
    ...defined({ response_format: format }),
  }
}

function toBodyChoice(choice: ToolChoice): OpenAI.Chat.Completions.ChatCompletionToolChoiceOption {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }
}

/** An agent's own schema wins over what a client asked the text to be. */
function formatOf({ outputSchema, parameters }: ModelRequest): Body['response_format'] {
  if (outputSchema)
    return { type: 'json_schema', json_schema: { name: 'output', schema: outputSchema } }
  const { responseFormat } = parameters
  if (responseFormat?.type !== 'json_schema') return responseFormat
  const { type, ...json_schema } = responseFormat
  return { type, json_schema }
}

/**
 * Images of a request were fetched at the surface. A model server in a private network would fetch an address there,
 * for any caller that may talk to it (docs/security.md T5): a remaining address is sent as text.
 */
function toBodyPart(part: MessagePart, { takesAddresses }: ImageRule): BodyPart {
  if (part.type === 'text') return part
  const { url, detail } = part
  if (takesAddresses || !/^https?:/i.test(url)) {
    return { type: 'image_url', image_url: { url, ...defined({ detail }) } }
  }
  return { type: 'text', text: `[An image that was not fetched: ${headOf(url, 300)}]` }
}

/** Names that OpenAI's own service accepts. */
const isName = /^[a-zA-Z0-9_-]{1,64}$/

/** The speaker of several. A name that services refuse is written before the text. */
function speakerOf({ name }: { readonly name?: string }) {
  if (name === undefined || name === '') return { name: {}, before: '' }
  return isName.test(name) ? { name: { name }, before: '' } : { name: {}, before: `${name}: ` }
}

function toBodyCall({ id, name, input, opaque }: ToolCall, service: string | undefined) {
  const { function: inside, ...fields } = ofService(opaque, service).call ?? {}
  const own = { name, arguments: JSON.stringify(input) }
  return {
    ...fields,
    id,
    type: 'function' as const,
    function: isFields(inside) ? { ...inside, ...own } : own,
  }
}

/** Parts that its own service sent, and so takes. */
const withThoughts = (thoughts: readonly Json[], text: string) =>
  [...thoughts, ...(text === '' ? [] : [{ type: 'text', text }])] as unknown as BodyText[]

function toBodyMessage(message: Message, server: ImageRule, service?: string): BodyMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text }
    case 'user': {
      const { role, images = [] } = message
      const { name, before } = speakerOf(message)
      if (images.length === 0) return { role, ...name, content: before + message.text }
      const parts = toParts(message).map((part) => toBodyPart(part, server))
      const said =
        before === '' ? parts : [{ type: 'text' as const, text: before.trimEnd() }, ...parts]
      return { role, ...name, content: said }
    }
    case 'assistant': {
      const { role, toolCalls = [] } = message
      const { name, before } = speakerOf(message)
      const text = message.text === '' ? '' : before + message.text
      if (toolCalls.length === 0) return { role, ...name, content: text }
      const { content: thoughts, ...fields } = ofService(toolCalls[0]?.opaque, service).reply ?? {}
      const said = text === '' ? null : text
      return {
        ...fields,
        role,
        ...name,
        content: Array.isArray(thoughts) ? withThoughts(thoughts, text) : said,
        tool_calls: toolCalls.map((call) => toBodyCall(call, service)),
      }
    }
    case 'tool': {
      const { callId, output } = message
      return {
        role: 'tool',
        tool_call_id: callId,
        content: typeof output === 'string' ? output : JSON.stringify(output),
      }
    }
  }
}
