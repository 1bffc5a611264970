import { headOf } from '#contracts/cut.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { ToolFailure } from '#contracts/tool.ts'
import { InputError, OutputError } from '../sandbox/output-error.ts'

const maxMessageChars = 2_000

/**
 * Only a `ToolError`'s message and `transient` leave the call; any other error stays inside, since it may hold
 * secrets.
 */
export function toFailure(error: unknown, name: string, signal: AbortSignal): ToolFailure {
  if (signal.aborted) return toAbortFailure(signal.reason, name)
  if (error instanceof OutputError)
    return { code: 'tool_failed', message: `The tool ${name} ${error.message}` }
  if (error instanceof InputError) return { code: 'tool_invalid_input', message: error.message }
  if (errorCode(error) === 'tool_failed') {
    const transient = (error as { readonly transient?: unknown }).transient === true
    return {
      code: 'tool_failed',
      message: headOf(errorMessage(error), maxMessageChars),
      ...(transient && { transient }),
    }
  }
  return { code: 'tool_failed', message: `The tool ${name} failed.` }
}

/** The pipeline's abort reason has a code; without one the call was cancelled. */
function toAbortFailure(reason: unknown, name: string): ToolFailure {
  const code = errorCode(reason)
  if (code === 'tool_timeout')
    return { code, message: `The tool ${name} took too long and was stopped.` }
  return { code: 'tool_cancelled', message: `The tool ${name} was cancelled.` }
}
