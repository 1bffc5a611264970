import * as z from 'zod'

/** Any text, ours or a stranger's: each use describes it. */
export const text = z.string()
export const flag = z.boolean()
/** Counts, places, bytes. */
export const count = z.int()
/** Epoch milliseconds. */
export const atMs = z.int().describe('Epoch milliseconds.')
export const usd = z.number().describe('US dollars.')
export const notes = z.array(text).describe('What whoever asked should know.')

export const json = z.unknown().meta({ id: 'Json', description: 'Any JSON.' })
export const object = z.record(text, z.unknown()).meta({ id: 'JsonObject' })

/** The one reply of a route, beside its errors: JSON of this shape. `is` says in a few words what it is. */
export const reply = <const Status extends number, Schema extends z.ZodType>(
  status: Status,
  is: string,
  json: Schema,
) => ({ [status]: { is, json } }) as Record<Status, { readonly is: string; readonly json: Schema }>

/** The one shape of an error, the same as OpenAI's, with an id to ask about. */
export const apiError = z
  .object({
    error: z.object({
      type: text.describe('The kind, by status, as OpenAI’s clients know it.'),
      code: text.describe('What to match on.'),
      message: text,
      param: text.nullable().describe('The field that it is about.'),
      request_id: text.describe('What to quote to the operator: the request, or the run.'),
    }),
  })
  .meta({ id: 'Error' })

/** `lines` of a LineDiff. */
export const diffedLines = z
  .array(text)
  .describe(
    'In order: `- ` gone, `+ ` new, `< ` moved from here, `> ` moved to here, two blanks as it was, ' +
      '`…` for those left out that are as they were.',
  )

/** Oddities of the created thing, in words for a person; absent if there are none. */
export const warnings = z
  .array(text)
  .optional()
  .describe('A limit that is under one model call, and what follows from that.')

/** The limit of a day, or its spending. */
export const dayAmount = z.object({
  tokens: count.nullable().describe('`null`: no limit.'),
  costUsd: usd.nullable().describe('US dollars; `null`: no limit.'),
})
