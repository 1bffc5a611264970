import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { CompactionOutcome } from '#runtime/session/types/session-view.ts'
import type { Message } from '#contracts/message.ts'
import { unwrap } from '#contracts/reply.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import { type OpenaiDeps, sessionFor } from '../work.ts'
import { readIdempotencyKey } from '#platform/routes/headers.ts'
import { eventStreamResponse, jsonResponse } from '#platform/routes/answer.ts'
import { resolveTarget } from '#platform/routes/targets.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { faultOf } from '../chat-response.ts'
import { invalid, toHistory } from '../history.ts'
import { createInlineImages } from '../inline-images.ts'
import { headersFor } from '../run-response.ts'
import { type PlaceInSession, toCompactionId, toMessageId, toResponseId } from '../wire-ids.ts'
import { toContent } from './compaction-item.ts'
import {
  compactionTrigger,
  inputItem,
  referencedRuns,
  sinceCompaction,
  toSaidItems,
  resolveItems,
} from './input-items.ts'
import { inputParts, toEcho, toResource, toUsage } from './resource.ts'
import type { ResponseRequest } from './response-request.ts'
import { createEmit } from './output-stream.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { submitAsCaller } from '#runtime/session/requests/open-session.ts'

const compactRequest = z.object({
  model: z.string().min(1).max(200),
  input: z.union([z.string().min(1), z.array(inputItem).min(1)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().min(1, 'is empty: leave it out to begin').nullish(),
  conversation: z.unknown().optional(),
})
type CompactRequest = z.infer<typeof compactRequest>

/**
 * `POST /v1/responses/compact`: makes a conversation that its client keeps shorter. Nothing of it is kept here; the run
 * that does it, with what a summary costs, is on the record like every other.
 */
export async function compact(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const request = parseFields(compactRequest, await readJsonObject(context.raw))
  const made = await compacted(deps, context, request)
  if (made instanceof Response) return made
  const { place, outcome, item, messages } = made
  const said = messages.flatMap((message, index) => userItem(place, message, index))
  const body = {
    id: toResponseId(place),
    object: 'response.compaction',
    created_at: Math.floor(outcome.createdAtMs / 1_000),
    output: [...said, item],
    usage: toUsage(outcome.result.usage),
  }
  return jsonResponse(body, { headers: headersOf(made) })
}

/** Whether a request for a response asks for a compaction instead: its last item says so. */
export const asksForCompaction = ({ input }: ResponseRequest): boolean =>
  typeof input !== 'string' && input.at(-1)?.type === compactionTrigger

/**
 * The same, as a response that has the compaction as its only item: asked for by an item behind those that are
 * compacted. A stream comes in one piece, so that what goes wrong is still a status.
 */
export async function answerCompaction(
  deps: OpenaiDeps,
  context: RequestContext,
  request: ResponseRequest,
): Promise<Response> {
  const { input, model, instructions, stream } = request
  const items = typeof input === 'string' ? [] : input.slice(0, -1)
  const { previous_response_id, conversation } = request
  const asked = { model, input: items, instructions, previous_response_id, conversation }
  const made = await compacted(deps, context, asked)
  if (made instanceof Response) return made
  const { place, outcome, item } = made
  const { createdAtMs, result } = outcome
  const head = {
    place,
    createdAt: Math.floor(createdAtMs / 1_000),
    echo: toEcho(request, [], undefined),
  }
  const done = toResource(head, {
    status: 'completed',
    output: [item],
    completedAtMs: result.finishedAtMs,
    tokens: result.usage,
  })
  const headers = headersOf(made)
  if (stream !== true) return jsonResponse(done, { headers })
  const begun = { response: toResource(head, { status: 'in_progress' }) }
  const at = { output_index: 0, item }
  const emit = createEmit(-1)
  const events = [
    emit('response.created', 0, begun),
    emit('response.in_progress', 1, begun),
    emit('response.output_item.added', 2, at),
    emit('response.output_item.done', 3, at),
    emit('response.completed', 4, { response: done }),
    'data: [DONE]\n\n',
  ]
  return eventStreamResponse(new Response(events.join('')).body, headers)
}

interface Compacted {
  readonly place: PlaceInSession
  readonly outcome: CompactionOutcome
  /** The whole conversation that the client sends from now on. */
  readonly messages: readonly Message[]
  readonly item: {
    readonly id: string
    readonly type: 'compaction'
    readonly encrypted_content: string
  }
}

const headersOf = ({ place, outcome }: Compacted) =>
  headersFor({ session: place.session, run: place.run, trace: outcome.result.trace })

/**
 * Compacts in a session of its own, which is gone after an hour. Answers with the error of a run that came to
 * nothing.
 */
async function compacted(
  deps: OpenaiDeps,
  context: RequestContext,
  request: CompactRequest,
): Promise<Compacted | Response> {
  const named =
    (context.raw.headers.get('x-isola-session') ?? undefined) === undefined
      ? undefined
      : 'x-isola-session'
  const kept = request.conversation ? 'conversation' : named
  if (kept !== undefined)
    throw unsupported(kept, 'a session is compacted with POST /api/sessions/:id/compact')
  if (request.previous_response_id)
    throw unsupported('previous_response_id', 'send the items themselves as input')
  const rights = context.caller
  const target = await resolveTarget(deps, rights, request.model)
  const history = await readInput(deps, context, request.input)
  const instructions = [request.instructions, history.instructions].filter(Boolean).join('\n\n')
  const key = readIdempotencyKey(context.raw.headers)
  const session = await sessionFor(deps, { asking: rights, key })
  const work = submitAsCaller(
    { ...deps, asking: rights },
    context,
    {
      session,
      agent: target.agent,
      ...defined({ model: target.model }),
      ...(instructions !== '' && { clientInstructions: instructions }),
      ...context.trace(),
      messages: history.messages,
      isStateless: true,
      compact: 'client',
    },
    { key, origin: 'responses' },
  )
  const outcome = unwrap(await work.compact())
  const { result, messages = history.messages } = outcome
  const place = { session, run: result.id, turn: 0 }
  const fault = faultOf(result) ?? stoppedBy(result)
  if (fault) {
    const headers = headersFor({ session, run: result.id, trace: result.trace })
    return context.refuse(fault, { headers, run: result.id })
  }
  const id = toCompactionId(place)
  const item = { id, type: 'compaction', encrypted_content: toContent(messages) } as const
  return { place, outcome, messages, item }
}

/** A limit that leaves nothing: there is no shorter conversation to answer with. */
function stoppedBy({ state, error }: CompactionOutcome['result']): Error | undefined {
  if (state === 'completed') return undefined
  return Object.assign(new Error(error?.message ?? 'The run was stopped.'), { code: error?.code })
}

async function readInput(
  deps: OpenaiDeps,
  context: RequestContext,
  input: CompactRequest['input'],
) {
  const inline = createInlineImages(deps, context)
  if (typeof input === 'string') {
    return toHistory([{ kind: 'user', text: input, images: [], at: 'input' }], 'input')
  }
  const resolve = await resolveItems(deps, context.caller.id, referencedRuns(input))
  const said = await inline(toSaidItems(input, 'input', resolve))
  const history = toHistory(sinceCompaction(said), 'input')
  if (history.orphans[0]) throw invalid(history.orphans[0].at, 'answers no call in this list')
  if (history.messages.length === 0) throw invalid('input', 'has nothing that could be compacted')
  return history
}

/** The user's messages stay readable for the client; the compaction has all messages, these too. */
function userItem(place: PlaceInSession, message: Message, index: number): readonly object[] {
  if (message.role !== 'user' || message.taint.includes('context')) return []
  const { role } = message
  const id = toMessageId(place, index)
  return [{ type: 'message', id, status: 'completed', role, content: inputParts(message) }]
}

const unsupported = (param: string, message: string) =>
  new IsolaError('request_unsupported_parameter', `${param}: ${message}.`, { param })
