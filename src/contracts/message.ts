import type { Json, JsonObject } from './json.ts'
import { type Label, clientSource, joinLabels, labelFrom, ownLabel, saidLabel } from './label.ts'

/**
 * Where a value came from: `operator`, `user`, `model`, `context`, or `tool:<name>`. It is for readers of the record;
 * the policy decides by `Label`.
 */
export type TaintLabel = 'operator' | 'user' | 'model' | 'context' | `tool:${string}`

/**
 * Fields of a call that a model service wants back unchanged: reasoning, signatures. They go to that service alone,
 * and to no caller.
 */
export interface OpaqueFields {
  /** Whose it is: provider, address and family of the model. */
  readonly service: string
  /** Fields of the message that made the call; stored with its first call. */
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

/** A picture of a message. */
export interface MessageImage {
  /** A data URL, or an address where a model server may fetch for itself. */
  readonly url: string
  /** Absent: the service decides. */
  readonly detail?: 'auto' | 'low' | 'high' | 'original'
  /** How many characters of the message's text come before it; absent: all of them. */
  readonly offset?: number
}

/** One message of a transcript, of any author. Each carries where it came from; a client's has no label (`labelOf`). */
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

/** Material that was given with a task: its principal vouches for it, its author may be unknown. */
const materialLabel = labelFrom('the material of the task', { integrity: 'data' })

/**
 * The label of a message as it came in or was stored. A message without a label is labelled by its origin: the text
 * of a person or a client is the user's, its material the principal's, and its report of a tool's result a client's.
 * An assistant's text has the label of its own context, which is all around it.
 */
export function labelOf(message: Message): Label {
  if (message.label) return message.label
  if (message.role === 'system') return ownLabel
  return joinLabels(message.taint.map((one) => labelOfOrigin(one, message)))
}

type Said = Exclude<Message, { readonly role: 'system' }>

function labelOfOrigin(origin: TaintLabel, { role, taint }: Said): Label {
  switch (origin) {
    case 'operator':
      return ownLabel
    case 'user':
      return saidLabel
    case 'context':
      return materialLabel
    case 'model':
      return role === 'assistant' ? ownLabel : labelFrom('another agent')
    default: {
      const tool = origin.slice('tool:'.length)
      // A client chooses the name of the tool whose result it reports.
      return labelFrom(role === 'tool' && taint.includes('user') ? clientSource(tool) : tool)
    }
  }
}

/** The label of a whole transcript. */
export const labelOfAll = (messages: readonly Message[]): Label => joinLabels(messages.map(labelOf))
