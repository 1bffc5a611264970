import * as z from 'zod'
import { contentBlockSchema } from '#runtime/kernel/types/asks.ts'
import type { AskRequest } from '#runtime/kernel/types/asks.ts'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import { ToolError } from './plugin.ts'
import type { SchemaValidator, ToolContext } from '#contracts/tool.ts'

/** How often an answer that does not fit is asked for again. */
const maxTries = 5

const answerSchemas = {
  elicit: z.lazy(() =>
    z.object({
      action: z.enum(['accept', 'decline', 'cancel']),
      content: z.record(z.string(), z.json()).optional(),
    }),
  ),
  sample: z.object({
    role: z.enum(['user', 'assistant']),
    content: z.union([
      contentBlockSchema,
      z.tuple([contentBlockSchema]).transform(([only]) => only),
    ]),
    model: z.string(),
    stopReason: z.string().optional(),
  }),
  roots: z.array(z.object({ uri: z.string(), name: z.string().optional() })),
} as const

/** The answer, or the question to put: again if the answer does not fit. */
type Found = { readonly answer: Json } | { readonly asked: JsonObject }

/** @throws `tool_failed` if no answer fits after several tries. */
export function answerTo(
  ask: AskRequest,
  given: NonNullable<ToolContext['answers']>[string] | undefined,
  validator: SchemaValidator,
): Found {
  const asked = plainOf(ask) as JsonObject
  if (!given) return { asked }
  const { problem: _problem, tries = 0, ...before } = given.asked
  if (JSON.stringify(before) !== JSON.stringify(asked)) return { asked }
  if (given.answer === null && ask.optional === true) return { answer: null }
  const problem = problemOf(ask, given.answer, validator)
  if (problem === undefined) return { answer: answerOf(ask, given.answer) }
  if (Number(tries) >= maxTries)
    throw new ToolError('tool_failed', { message: `No valid answer came: ${problem}.` })
  return { asked: { ...asked, problem, tries: Number(tries) + 1 } }
}

function problemOf(ask: AskRequest, answer: Json, validator: SchemaValidator): string | undefined {
  const read = answerSchemas[ask.kind].safeParse(answer)
  if (!read.success) return 'the answer has not the shape that was asked for'
  if (ask.kind !== 'elicit') return undefined
  const { action, content = {} } = answerSchemas.elicit.parse(answer)
  if (action !== 'accept') return undefined
  const verdict = validator.validate(ask.schema as JsonSchema, content as Json)
  return verdict.ok ? undefined : `${verdict.path === '' ? 'it' : verdict.path} ${verdict.message}`
}

/** Keeps only the fields of the schema: a client may send more than the call asked for. */
const answerOf = (ask: AskRequest, answer: Json): Json =>
  plainOf(answerSchemas[ask.kind].parse(answer))

/** A parsed value is JSON already; only `undefined` fields have to go. */
const plainOf = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json
