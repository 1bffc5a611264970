import { errorMessage } from '#contracts/errors.ts'
import { ToolError } from './plugin.ts'

/** Default time limit of a plugin call in either host. */
export const defaultTimeoutMs = 30_000
/** Largest answer of a plugin as JSON. Bytes. */
export const maxOutputBytes = 1024 * 1024
/** Time limit for all plugins that are asked at one hook point together. */
export const defaultHookTimeoutMs = 2_000
/** Time limit for importing and registering a plugin when it is installed or enabled: other changes wait meanwhile. */
export const inspectTimeoutMs = 3_000
/** Time limit of a plugin's scheduled work. Milliseconds. */
export const scheduleTimeoutMs = 120_000

/** An answer of a plugin's code that cannot be used. The message follows the tool's name, and is for the model. */
export class OutputError extends Error {}

/** The requested item does not exist. Thrown by the host alone; the message is for the model. */
export class InputError extends Error {
  readonly code = 'tool_invalid_input'
}

/** A failure that a model may read: `tool_failed`. */
export const failed = (message: string, transient = false): ToolError =>
  new ToolError('tool_failed', { message, transient })

/** A known error keeps its message, which states a remedy; the message of a fault may reveal internals. */
export const safeError = (
  error: unknown,
  { isKnown, otherwise }: { readonly isKnown: boolean; readonly otherwise: string },
): ToolError => failed(isKnown ? errorMessage(error) : otherwise, !isKnown)
