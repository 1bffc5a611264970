import type { Json, JsonObject } from './json.ts'

/**
 * Where a value came from: `operator`, `user`, `model`, `context`, or `tool:<name>`.
 * Every value carries its labels from the first day; the only policy on them so far is to record them.
 */
export type TaintLabel = 'operator' | 'user' | 'model' | 'context' | `tool:${string}`

/** One call a model asked for. `id` is unique within its run. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Parsed arguments; a string that is not a JSON object arrives as `{ "": raw }` and fails validation. */
  readonly input: JsonObject
}

/** One message of a transcript, whoever said it. Each carries where it came from. */
export type Message =
  | { readonly role: 'system'; readonly text: string }
  | {
      readonly role: 'user'
      readonly text: string
      /** Image URLs or data URLs, passed to models that take them. */
      readonly images?: readonly string[]
      readonly taint: readonly TaintLabel[]
    }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly toolCalls?: readonly ToolCall[]
      readonly taint: readonly TaintLabel[]
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
    }
