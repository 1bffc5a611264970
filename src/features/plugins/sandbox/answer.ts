import { headOf } from '#contracts/cut.ts'
import { parseForeignJson } from '#contracts/foreign-json.ts'
import * as z from 'zod'
import { ToolError } from '#contracts/plugin.ts'
import { OutputError } from './output-error.ts'

const answerSchema = z.strictObject({
  error: z.strictObject({
    code: z.string().max(64),
    message: z.string().transform((message) => headOf(message, 2_000).toWellFormed()),
    transient: z.boolean().optional(),
  }),
})

/**
 * Reads what came out of an isolate, which the plugin may have written itself: a text whose length was capped.
 *
 * @returns The value, still to be checked like any plugin's.
 * @throws ToolError or OutputError made here from capped text; an Error without a word of it for everything else.
 */
export function readAnswer(text: unknown, maxChars: number): unknown {
  if (typeof text !== 'string' || text.length > maxChars) throw tooLarge()
  const given = parseJson(text)
  // What nearly every call answers is told apart without a schema.
  if (isValue(given)) return given.value
  const answer = answerSchema.safeParse(given)
  if (!answer.success) throw new OutputError('returned what cannot be read.')
  throw toError(answer.data.error)
}

/** Whether the value is JSON all through is checked once, where the other host's answers are. */
function isValue(given: unknown): given is { readonly value: unknown } {
  if (typeof given !== 'object' || given === null) return false
  return Object.hasOwn(given, 'value') && Object.keys(given).length === 1
}

function parseJson(text: string): unknown {
  try {
    return parseForeignJson(text)
  } catch {
    return undefined
  }
}

const tooLarge = () => new OutputError('returned more than 1 MiB of JSON.')

interface AnswerFault {
  readonly code: string
  readonly message: string
  readonly transient?: boolean | undefined
}

/** Every code can be forged by the plugin: each gives it no more than a text under its own tool's name. */
function toError({ code, message, transient = false }: AnswerFault): Error {
  switch (code) {
    case 'tool_failed':
      return new ToolError('tool_failed', { message, transient })
    case 'not_json':
      return new OutputError(`returned what is not JSON: ${headOf(message, 300)}.`)
    case 'too_large':
      return tooLarge()
    case 'timeout':
      return new OutputError('did not answer in time.')
    case 'exceeded':
      return new OutputError(`was stopped: it ${headOf(message, 300)}.`)
    case 'plugin_code_unavailable':
      return new ToolError('tool_failed', {
        message: 'The code of this plugin could not be read; try again.',
        transient: true,
      })
    case 'plugin_register_failed':
    case 'plugin_contract_mismatch':
      return new OutputError(`cannot run: ${headOf(message, 500)}.`)
    default:
      return new Error('The plugin failed.')
  }
}
