import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunMemo } from '#runtime/session/types/session-view.ts'
import type { OpenaiDeps } from '../work.ts'
import { toEventStream } from '#platform/routes/event-stream.ts'
import { eventStreamResponse, jsonResponse } from '#platform/routes/answer.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { headersFor } from '../run-response.ts'
import { parseResponseId, type PlaceInSession } from '../wire-ids.ts'
import { type ResponseHead, toResource } from './resource.ts'
import { createResponseView } from './response-view.ts'
import { pageOfItems, toItemsQuery } from './conversations.ts'
import type { RequestContext } from '#platform/routes/request.ts'

const flag = z.enum(['true', 'false', '1', '0']).optional()
const query = z.object({
  stream: flag,
  starting_after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be a sequence_number')
    .optional(),
})

/** `GET /v1/responses/:id`; with `stream=true` as events, from `starting_after` on. */
export async function showResponse(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const { stream, starting_after: after } = parseFields(query, context.search)
  const place = placeOf(context)
  const headers = headersFor(place)
  if (stream !== 'true' && stream !== '1') {
    const memo = await recall(deps, context, place)
    return jsonResponse(await toStored(deps, context, place, memo), { headers })
  }
  const head = headOf(place, await recall(deps, context, place))
  const requestId = context.requestId
  const source = unwrap(
    await deps.sessions
      .at(place.session)
      .events(context.caller.id, { afterSeq: 0, run: place.run, follow: true }),
  )
  const view = createResponseView({
    head,
    requestId,
    onFault: (error) => deps.onFault?.(error, requestId),
    ...(after !== undefined && { after: Number(after) }),
  })
  const { signal } = context.raw
  const body = toEventStream(source, view, { clock: deps.sources.clock, signal })
  return eventStreamResponse(body, headers)
}

/** `GET /v1/responses/:id/input_items`: the items of this request, without earlier ones. */
export async function listInputItems(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const place = placeOf(context)
  await recall(deps, context, place)
  const { session, run, turn } = place
  const query = { ...toItemsQuery(context.search, session), inputsOf: { run, turn } }
  const principal = context.caller.id
  return pageOfItems(unwrap(await deps.sessions.at(session).items(principal, query)), session)
}

/** `DELETE /v1/responses/:id`: it is not found from then on. Responses that continue it still work. */
export async function deleteResponse(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const place = placeOf(context)
  await recall(deps, context, place)
  unwrap(await deps.sessions.at(place.session).hide(context.caller.id, place.run))
  return jsonResponse({ id: context.params['id'], object: 'response', deleted: true })
}

/** `POST /v1/responses/:id/cancel`. A response that is over stays as it is. */
export async function cancelResponse(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const place = placeOf(context)
  await recall(deps, context, place)
  const reason = 'Cancelled by the caller.'
  const session = deps.sessions.at(place.session)
  unwrap(await session.cancel(context.caller.id, place.run, reason))
  return jsonResponse(await readAnswer(deps, context, place))
}

/** A response as it stands, whether it was to be stored or not. */
export async function readAnswer(
  deps: OpenaiDeps,
  context: RequestContext,
  place: PlaceInSession,
): Promise<ReturnType<typeof toResource>> {
  const session = deps.sessions.at(place.session)
  const memo = unwrap(await session.recall(context.caller.id, place.run))
  return toStored(deps, context, place, memo)
}

async function toStored(
  deps: OpenaiDeps,
  context: RequestContext,
  place: PlaceInSession,
  memo: RunMemo,
): Promise<ReturnType<typeof toResource>> {
  const head = headOf(place, memo)
  const requestId = context.requestId
  const view = createResponseView({ head, requestId, onFault: () => {} })
  for (const item of await deps.entry.readLog(context.caller.id, place)) view.show(item)
  view.close()
  const resource = view.resource()
  return memo.state === 'queued' ? { ...resource, status: 'queued' } : resource
}

function placeOf(context: RequestContext): PlaceInSession {
  const place = parseResponseId(context.params['id'] ?? '')
  if (place) return place
  throw noSuchResponse()
}

/** Throws alike for one that is absent, another's, deleted, or was not to be stored. */
async function recall(
  deps: OpenaiDeps,
  context: RequestContext,
  { session, run, turn }: PlaceInSession,
): Promise<RunMemo> {
  const reply = await deps.sessions.at(session).recall(context.caller.id, run)
  if (!reply.ok && reply.error.code === 'request_not_found') throw noSuchResponse()
  const memo = unwrap(reply)
  const echo = memo.echoes[String(turn)]
  if (memo.isHidden || echo?.['model'] === undefined || echo['store'] === false)
    throw noSuchResponse()
  return memo
}

const noSuchResponse = () => new IsolaError('request_not_found', 'There is no such response.')

const headOf = (place: PlaceInSession, { createdAtMs, echoes }: RunMemo): ResponseHead => ({
  place,
  createdAt: Math.floor(createdAtMs / 1_000),
  echo: echoes[String(place.turn)] ?? {},
})
