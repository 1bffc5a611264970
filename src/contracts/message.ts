import type { Json, JsonObject } from './json.ts'
import type { Label } from './label.ts'

/**
 * Where a value came from: `operator`, `user`, `model`, `context`, or `tool:<name>`. It is for whoever reads the record;
 * the policy decides by `Label`.
 */
export type TaintLabel = 'operator' | 'user' | 'model' | 'context' | `tool:${string}`

/** One call a model asked for. `id` is unique within its run. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Parsed arguments; a string that is not a JSON object arrives as `{ "": raw }` and fails validation. */
  readonly input: JsonObject
}

/** One message of a transcript, whoever said it. Each carries where it came from; one of an older version has no label. */
export type Message =
  | { readonly role: 'system'; readonly text: string; readonly label?: Label | undefined }
  | {
      readonly role: 'user'
      readonly text: string
      /** Image URLs or data URLs, passed to models that take them. */
      readonly images?: readonly string[]
      readonly taint: readonly TaintLabel[]
      readonly label?: Label | undefined
    }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly toolCalls?: readonly ToolCall[]
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
