import type { Json, JsonObject } from './json.ts'
import type { Label } from './label.ts'

/**
 * Where a value came from: `operator`, `user`, `model`, `context`, or `tool:<name>`. It is for whoever reads the record;
 * the policy decides by `Label`.
 */
export type TaintLabel = 'operator' | 'user' | 'model' | 'context' | `tool:${string}`

/**
 * What a model service wants back with a call that its model made, as it sent it: reasoning, signatures. It goes to that
 * service alone, and to no caller.
 */
export interface OpaqueFields {
  /** Whose it is: provider, address and family of the model. */
  readonly service: string
  /** Of the message that made the call; at its first call. */
  readonly reply?: JsonObject
  readonly call?: JsonObject
}

/** One call a model asked for. `id` is unique within its run. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Parsed arguments; a string that is not a JSON object arrives as `{ "": raw }` and fails validation. */
  readonly input: JsonObject
  readonly opaque?: OpaqueFields
}

/** How closely a model looks at a picture, as OpenAI's API spells it. */
export const imageDetails = ['auto', 'low', 'high', 'original'] as const
type ImageDetail = (typeof imageDetails)[number]

/** A picture of a message. */
export interface MessageImage {
  /** A data URL, or an address where a model server may fetch for itself. */
  readonly url: string
  /** Absent: the service decides. */
  readonly detail?: ImageDetail
  /** How many characters of the message's text come before it; absent: all of them. */
  readonly offset?: number
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
const betweenTexts = '\n'

/** One text and its pictures, for parts in any order. Empty texts are left out; texts are joined by a line break. */
export function fromParts(parts: readonly MessagePart[]): TextWithImages {
  const said = parts.filter((part) => part.type === 'image' || part.text !== '')
  const text = said.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(betweenTexts)
  let offset = 0
  const images: MessageImage[] = []
  for (const part of said) {
    if (part.type === 'text') offset += (offset === 0 ? 0 : betweenTexts.length) + part.text.length
    else {
      const { type: _type, ...image } = part
      images.push(offset < text.length ? { ...image, offset } : image)
    }
  }
  return { text, ...(images.length > 0 && { images }) }
}

/** The parts of a message in their order: what `fromParts` was given. A text without pictures is one part. */
export function toParts({ text, images = [] }: TextWithImages): readonly MessagePart[] {
  const parts: MessagePart[] = []
  let from = 0
  const addText = (to: number): void => {
    if (to <= from) return
    const isAfterText = from > 0 && text.startsWith(betweenTexts, from)
    const piece = text.slice(isAfterText ? from + betweenTexts.length : from, to)
    if (piece !== '') parts.push({ type: 'text', text: piece })
    from = to
  }
  for (const { offset = text.length, ...image } of images) {
    addText(Math.min(offset, text.length))
    parts.push({ type: 'image', ...image })
  }
  addText(text.length)
  return parts
}

/** One message of a transcript, whoever said it. Each carries where it came from; one of an older version has no label. */
export type Message =
  | { readonly role: 'system'; readonly text: string; readonly label?: Label | undefined }
  | {
      readonly role: 'user'
      readonly text: string
      /** In the order of their places; passed to models that take them. */
      readonly images?: readonly MessageImage[]
      /** Which of several speakers said it. */
      readonly name?: string
      readonly taint: readonly TaintLabel[]
      readonly label?: Label | undefined
    }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly toolCalls?: readonly ToolCall[]
      /** Which of several speakers said it, as a client tells us. */
      readonly name?: string
      /** The tool that has the conversation and said it; the session's own agent if absent. */
      readonly by?: string
      readonly taint: readonly TaintLabel[]
      readonly label?: Label | undefined
    }
  | {
      readonly role: 'tool'
      readonly callId: string
      readonly name: string
      readonly output: Json
      readonly isError: boolean
      /** A person allowed this call, or answered it. */
      readonly decided?: true
      readonly taint: readonly TaintLabel[]
      readonly label?: Label | undefined
    }

/** A message as people and programs read it: what a model service alone reads is left out. */
export function withoutOpaque(message: Message): Message {
  if (message.role !== 'assistant' || !message.toolCalls?.some(({ opaque }) => opaque))
    return message
  const toolCalls = message.toolCalls.map(({ id, name, input }) => ({ id, name, input }))
  return { ...message, toolCalls }
}
