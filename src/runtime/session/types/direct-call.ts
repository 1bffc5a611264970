import type { Json, JsonObject } from '#contracts/json.ts'
import type { ToolResult } from '#contracts/tool.ts'

/** The outcome of a direct call, as the run's `output`: of a failed call only what a model would read. */
export type DirectOutcome =
  | { readonly ok: true; readonly call: string; readonly output: Json }
  | { readonly ok: false; readonly call: string; readonly code: string; readonly message: string }

/** A tool's result as the outcome of a run that is one call. */
export const toDirectOutcome = (call: string, result: ToolResult): DirectOutcome & JsonObject =>
  result.ok
    ? { ok: true, call, output: result.output }
    : { ok: false, call, code: result.error.code, message: result.error.message }
