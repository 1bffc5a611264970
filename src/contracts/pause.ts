import type { Json, JsonObject } from './json.ts'
import type { PauseRequest, ToolResult } from './tool.ts'

/** A call that waits for someone outside. Nothing stays resident meanwhile; its time is not charged. */
export interface Pause extends PauseRequest {
  readonly call: string
  readonly tool: string
  /** The arguments as they would be run. */
  readonly input: JsonObject
  /** sha-256 of them: an approval holds for these only. */
  readonly argsHash: string
  /** Of the tool as it was then: an approval holds for this version only. */
  readonly definitionHash: string
  /** Epoch milliseconds. */
  readonly sinceMs: number
}

/** What came of a pause: leave to run the call with exactly these arguments, or its outcome. */
export type PauseAnswer =
  | { readonly kind: 'approved'; readonly argsHash: string; readonly definitionHash: string }
  | { readonly kind: 'outcome'; readonly result: ToolResult }

/** What someone outside says about one waiting call. */
export type Decision =
  | { readonly decision: 'approve'; readonly argsHash?: string }
  | { readonly decision: 'deny'; readonly message?: string }
  /** The answer to a question, or what the client's tool returned. */
  | { readonly decision: 'result'; readonly output: Json }
  | { readonly decision: 'error'; readonly message: string }
