import { z } from 'zod'
import { contentBlockSchema } from '#contracts/content.ts'
import type { Json, JsonObject, JsonSchema } from '#contracts/json.ts'
import type { RequestedGrants } from '#contracts/manifest.ts'
import { ToolError, type PluginRequest } from '#contracts/plugin.ts'
import type { Asks, SchemaValidator, ToolContext, ToolResult } from '#contracts/tool.ts'
import { jsonSizeBytes, NotJsonError, toJson } from './json-border.ts'
import { createRequest } from './request-shorthand.ts'

const maxAsks = 16
const maxAsksBytes = 64 * 1024
/** How often an answer that does not fit is asked for again. */
const maxTries = 5

const optional = z.boolean().optional()
const block = z.union([
  z.string().transform((text) => ({ type: 'text' as const, text })),
  contentBlockSchema,
])
const askSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('elicit'),
    message: z.string().min(1).max(4_000),
    schema: z.looseObject({ type: z.literal('object') }),
    optional,
  }),
  z.strictObject({
    kind: z.literal('sample'),
    messages: z
      .array(z.strictObject({ role: z.enum(['user', 'assistant']), content: block }))
      .min(1)
      .max(100),
    maxTokens: z.int().min(1).max(1_000_000),
    system: z.string().max(16_000).optional(),
    temperature: z.number().min(0).max(2).optional(),
    optional,
  }),
  z.strictObject({ kind: z.literal('roots'), optional }),
])
const asksSchema = z
  .record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/), askSchema)
  .refine((asks) => Object.keys(asks).length > 0, 'asks nothing')

type AskRequest = z.infer<typeof askSchema>

const answerSchemas = {
  elicit: z.object({
    action: z.enum(['accept', 'decline', 'cancel']),
    content: z.record(z.string(), z.json()).optional(),
  }),
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

/** Told once what a call asks for; from then on the call is over. */
export type OnAsk = (asks: Asks) => void

export interface PluginRequestOptions {
  readonly granted: RequestedGrants['request']
  readonly context: Pick<ToolContext, 'answers'>
  readonly deps: { readonly validator: SchemaValidator }
  /** Says no, and puts it on the record. */
  readonly refuse: (capability: string) => () => Promise<never>
  readonly onAsk?: OnAsk | undefined
}

/**
 * Asks whoever is outside, within `grants.request`. What was answered already is there at once; for the rest the call
 * ends, and runs again when they have answered.
 */
export function createPluginRequest(options: PluginRequestOptions): PluginRequest {
  const { granted = [], context, deps, refuse, onAsk } = options
  return createRequest(async (given) => {
    const asks = parseAsks(given)
    const denied = Object.values(asks).find(({ kind }) => !granted.includes(kind))
    if (denied) return refuse(`request: ${denied.kind}`)()
    if (!onAsk) throw failed('Nobody can be asked here.')
    const answers = new Map(Object.entries(context.answers ?? {}))
    const found = Object.entries(asks).map(
      ([key, ask]) => [key, answerTo(ask, answers.get(key), deps.validator)] as const,
    )
    const open = found.flatMap(([key, one]) => ('asked' in one ? [[key, one.asked] as const] : []))
    if (open.length === 0)
      return Object.fromEntries(
        found.map(([key, one]) => [key, 'answer' in one ? one.answer : null]),
      )
    onAsk(Object.fromEntries(open))
    throw failed('Waiting for an answer: the call runs again when there is one.')
  })
}

/** The answer, or what is to be asked: once more if what came does not fit. */
type Found = { readonly answer: Json } | { readonly asked: JsonObject }

function answerTo(
  ask: AskRequest,
  given: NonNullable<ToolContext['answers']>[string] | undefined,
  validator: SchemaValidator,
): Found {
  const asked = toJson(ask) as JsonObject
  if (!given) return { asked }
  const { problem: _problem, tries = 0, ...before } = given.asked
  if (JSON.stringify(before) !== JSON.stringify(asked)) return { asked }
  if (given.answer === null && ask.optional === true) return { answer: null }
  const problem = problemOf(ask, given.answer, validator)
  if (problem === undefined) return { answer: answerOf(ask, given.answer) }
  if (Number(tries) >= maxTries) throw failed(`No valid answer came: ${problem}.`)
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

/** Only what the schema knows: a client may say more than anybody asked for. */
const answerOf = (ask: AskRequest, answer: Json): Json =>
  toJson(answerSchemas[ask.kind].parse(answer))

function parseAsks(given: unknown): Readonly<Record<string, AskRequest>> {
  const read = asksSchema.safeParse(plain(given))
  if (!read.success) throw failed(`request: ${z.prettifyError(read.error)}`.slice(0, 500))
  if (Object.keys(read.data).length > maxAsks) throw failed(`request: at most ${maxAsks} at once.`)
  if (jsonSizeBytes(toJson(read.data)) > maxAsksBytes)
    throw failed('request: at most 64 KiB of questions.')
  return read.data
}

function plain(given: unknown): Json {
  try {
    return toJson(given)
  } catch (error) {
    if (error instanceof NotJsonError) throw failed(`request: ${error.message.slice(0, 300)}`)
    throw error
  }
}

const failed = (message: string) => new ToolError('tool_failed', { message })

/** Where a call asks, and what ends it then. */
export interface Asking {
  readonly onAsk: OnAsk
  readonly asks: () => Asks | undefined
  readonly signal: AbortSignal
}

/** Nothing for a call that may not ask: it costs nothing then. */
export function createAsking({
  request = [],
}: Pick<RequestedGrants, 'request'>): Asking | undefined {
  if (request.length === 0) return undefined
  const asked: { asks?: Asks } = {}
  const over = new AbortController()
  return {
    onAsk(asks) {
      asked.asks ??= asks
      over.abort(failed('Waiting for an answer.'))
    },
    asks: () => asked.asks,
    signal: over.signal,
  }
}

/** How the call ends: its outcome comes when it has run again. */
export const waitingFor = (asks: Asks): ToolResult & { readonly ok: false } => ({
  ok: false,
  error: { code: 'tool_pending', message: 'Waiting for an answer.' },
  pause: { kind: 'question', expires: true, asks },
})
