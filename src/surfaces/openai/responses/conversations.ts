import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import { unwrap } from '#contracts/reply.ts'
import type { SessionAbout } from '#runtime/session/types/session-view.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { invalid, toHistory } from '../history.ts'
import { parseConversationId, parseItemOf, toConversationId } from '../wire-ids.ts'
import { inputItem, type InputItem, toSaidItems } from './input-items.ts'
import { metadata } from './response-request.ts'
import { pageOfItems, toItem, toItemsQuery } from './said-items.ts'

const maxAdded = 20
const items = z.array(inputItem).max(maxAdded)
const createRequest = z.object({ metadata: metadata.nullish(), items: items.nullish() })
const updateRequest = z.object({ metadata })
const addRequest = z.object({ items: items.min(1) })

/** `/v1/conversations…`: a session that responses are sent to. Its agent is the one of its first response. */
export function addConversationRoutes(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/v1/conversations', { POST: (context) => create(deps, context) })
  addRoute('/v1/conversations/:id', {
    GET: async (context) => {
      const { id, session, principal } = open(deps, context)
      return jsonResponse(toConversation(id, unwrap(await session.about(principal))))
    },
    POST: async (context) => {
      const { id, session, principal } = open(deps, context)
      const change = parseFields(updateRequest, await readJsonObject(context.req.raw))
      return jsonResponse(toConversation(id, unwrap(await session.amend(principal, change))))
    },
    DELETE: async (context) => {
      const { id, session, principal } = open(deps, context)
      unwrap(await session.delete(principal))
      return jsonResponse({ id, object: 'conversation.deleted', deleted: true })
    },
  })
  addRoute('/v1/conversations/:id/items', {
    GET: (context) => list(deps, context),
    POST: (context) => add(deps, context),
  })
  addRoute('/v1/conversations/:id/items/:item', { GET: (context) => show(deps, context) })
}

async function create(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const body = await readJsonObject(context.req.raw, { whenEmpty: {} })
  const { metadata: about, items: said } = parseFields(createRequest, body)
  const session = deps.sources.ids.next('ses')
  const asking = context.get('principal')
  const principal = asking.id
  const messages = await toMessages(deps, principal, said ?? [])
  await deps.limits.newSession(asking, session)
  const tree = unwrap(
    await deps.sessions.at(session).create({
      principal,
      session,
      metadata: about ?? {},
      ...(messages.length > 0 && { messages }),
    }),
  )
  return jsonResponse(toConversation(toConversationId(session), tree))
}

function open(deps: HttpDeps, context: HttpContext) {
  const id = context.req.param('id') ?? ''
  const session = parseConversationId(id)
  if (session === undefined) {
    throw new IsolaError('request_not_found', 'There is no such conversation.')
  }
  return {
    id,
    sessionId: session,
    session: deps.sessions.at(session),
    principal: context.get('principal').id,
  }
}

const toConversation = (id: string, { createdAtMs, metadata: about }: SessionAbout) => ({
  id,
  object: 'conversation',
  created_at: Math.floor(createdAtMs / 1_000),
  metadata: about ?? {},
})

/** What a client says was said before. Throws `request_invalid` naming the item. */
async function toMessages(
  { toldAnswers }: HttpDeps,
  principal: string,
  said: readonly InputItem[],
): Promise<readonly Message[]> {
  const { messages, orphans, instructions } = toHistory(
    toSaidItems(said, 'items', () => undefined),
    'items',
  )
  if (orphans[0]) throw invalid(orphans[0].at, 'answers no call in this list')
  if (instructions !== undefined) {
    throw invalid('items', 'take no system or developer message: send instructions with a response')
  }
  return toldAnswers.labelled(principal, messages)
}

/** Answers with what was added. */
async function add(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const { sessionId, session, principal } = open(deps, context)
  const request = parseFields(addRequest, await readJsonObject(context.req.raw))
  const messages = await toMessages(deps, principal, request.items)
  const newest = { order: 'desc', limit: 1 } as const
  const [last] = unwrap(await session.items(principal, newest)).items
  unwrap(await session.amend(principal, { messages }))
  const added = { order: 'asc', limit: maxAdded, ...(last && { after: last }) } as const
  return pageOfItems(unwrap(await session.items(principal, added)), sessionId)
}

/** What our own tools said is not the client's affair. */
async function list(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const { sessionId, session, principal } = open(deps, context)
  const query = toItemsQuery(context.req.query(), sessionId)
  return pageOfItems(unwrap(await session.items(principal, query)), sessionId)
}

async function show(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const { sessionId, session, principal } = open(deps, context)
  const only = parseItemOf(sessionId, context.req.param('item') ?? '')
  const query = only && ({ only, limit: 1, order: 'asc' } as const)
  const [found] = query ? unwrap(await session.items(principal, query)).items : []
  if (found) return jsonResponse(toItem(found, sessionId))
  throw new IsolaError('request_not_found', 'There is no such item in this conversation.')
}
