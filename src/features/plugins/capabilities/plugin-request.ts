import * as z from 'zod'
import { headOf } from '#contracts/cut.ts'
import { askSchema, type AskRequest } from '#runtime/kernel/types/asks.ts'
import { answerTo } from '../types/answers.ts'
import type { Json } from '#contracts/json.ts'
import type { RequestedGrants } from '#contracts/manifest/manifest.ts'
import type { PluginRequest } from '#features/plugins/types/plugin.ts'
import type { Asks, SchemaValidator, ToolContext } from '#contracts/tool.ts'
import { jsonSizeBytes, NotJsonError, toJson } from '../sandbox/json-border.ts'
import { createRequest } from '../sandbox/request-shorthand.ts'
import { failed } from '../types/plugin-output.ts'

const maxAsks = 16
const maxAsksBytes = 64 * 1024

const asksSchema = z
  .record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/), askSchema)
  .refine((asks) => Object.keys(asks).length > 0, 'asks nothing')

/** Called once with the open questions of a call; the call ends with it. */
export type OnAsk = (asks: Asks) => void

/** The kinds of question a plugin may ask its client, and the earlier answers. */
export interface PluginRequestOptions {
  readonly granted: RequestedGrants['request']
  readonly context: Pick<ToolContext, 'answers'>
  readonly deps: { readonly validator: SchemaValidator }
  /** Refuses, and records the refusal. */
  readonly refuse: (capability: string) => () => Promise<never>
  readonly onAsk?: OnAsk | undefined
}

/**
 * Asks the client's user, model or roots, within `grants.request`. Known answers return at once; for open questions
 * the call ends, and runs again once they are answered.
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

function parseAsks(given: unknown): Readonly<Record<string, AskRequest>> {
  const read = asksSchema.safeParse(plain(given))
  if (!read.success) throw failed(headOf(`request: ${z.prettifyError(read.error)}`, 500))
  if (Object.keys(read.data).length > maxAsks) throw failed(`request: at most ${maxAsks} at once.`)
  if (jsonSizeBytes(toJson(read.data)) > maxAsksBytes)
    throw failed('request: at most 64 KiB of questions.')
  return read.data
}

function plain(given: unknown): Json {
  try {
    return toJson(given)
  } catch (error) {
    if (error instanceof NotJsonError) throw failed(`request: ${headOf(error.message, 300)}`)
    throw error
  }
}

/**
 * Where a call puts its open questions, and the signal that ends it then; `undefined` for a call that may not ask,
 * which then costs nothing.
 */
export function createAsking({ request = [] }: Pick<RequestedGrants, 'request'>) {
  if (request.length === 0) return undefined
  const asked: { asks?: Asks } = {}
  const over = new AbortController()
  return {
    onAsk: (asks: Asks): void => {
      asked.asks ??= asks
      over.abort(failed('Waiting for an answer.'))
    },
    asks: () => asked.asks,
    signal: over.signal,
  }
}
