import * as z from 'zod'
import { headOf } from '#contracts/cut.ts'
import { parseForeignJson } from '#contracts/foreign-json.ts'
import { OutputError, failed } from '../types/plugin-output.ts'

const answerSchema = z.strictObject({
  error: z.strictObject({
    code: z.string().max(64),
    message: z.string().transform((message) => headOf(message, 2_000).toWellFormed()),
    transient: z.boolean().optional(),
  }),
})

/**
 * Reads an isolate's answer, a text of limited length. The plugin may have forged it.
 *
 * @returns The value, still to be checked like any plugin's.
 * @throws ToolError or OutputError with capped text; for other faults an Error that quotes nothing of the answer.
 */
export function readAnswer(text: unknown, maxChars: number): unknown {
  if (typeof text !== 'string' || text.length > maxChars) throw tooLarge()
  const given = parseJson(text)
  // Nearly every call answers in this form, which is recognised without a schema.
  if (isValue(given)) return given.value
  const answer = answerSchema.safeParse(given)
  if (!answer.success) throw new OutputError('returned what cannot be read.')
  throw toError(answer.data.error)
}

/** That the value is JSON throughout is checked later, in one place for both hosts. */
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

/** A plugin can forge every code: each one gives it no more than a text under its own tool's name. */
function toError({
  code,
  message,
  transient = false,
}: z.infer<typeof answerSchema>['error']): Error {
  switch (code) {
    case 'tool_failed':
      return failed(message, transient)
    case 'not_json':
      return new OutputError(`returned what is not JSON: ${headOf(message, 300)}.`)
    case 'too_large':
      return tooLarge()
    case 'timeout':
      return new OutputError('did not answer in time.')
    case 'exceeded':
      return new OutputError(`was stopped: it ${headOf(message, 300)}.`)
    case 'plugin_code_unavailable':
      return failed('The code of this plugin could not be read; try again.', true)
    case 'plugin_register_failed':
    case 'plugin_contract_mismatch':
      return new OutputError(`cannot run: ${headOf(message, 500)}.`)
    default:
      return new Error('The plugin failed.')
  }
}
