import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import { unwrap } from '#contracts/reply.ts'
import type {
  SessionAbout,
  ItemsPage,
  ItemsQuery,
  SaidItem,
} from '#runtime/session/types/session-view.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { OpenaiDeps } from '../work.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { invalid, toHistory } from '../history.ts'
import {
  parseConversationId,
  parseItemOf,
  toConversationId,
  toCallId,
  toItemId,
} from '../wire-ids.ts'
import { inputItem, type InputItem, toSaidItems } from './input-items.ts'
import { metadata } from './response-request.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { inputParts, textPart } from './resource.ts'

const listQuery = z.object({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be 1 to 100')
    .optional(),
  after: z.string().optional(),
  order: z.enum(['asc', 'desc']).optional(),
})

/** The query of a list of items: newest first by default. */
export function toItemsQuery(query: Readonly<Record<string, string>>, session: string): ItemsQuery {
  const { limit = '20', after, order = 'desc' } = parseFields(listQuery, query)
  const page = { limit: Number(limit), order }
  if (after === undefined) return page
  const place = parseItemOf(session, after)
  if (!place) throw invalid('after', 'is no item of this list')
  return { ...page, after: place }
}

/** A page of items as OpenAI's lists are; the ids name the session. */
export function pageOfItems({ items, hasMore }: ItemsPage, session: string): Response {
  const data = items.map((item) => toItem(item, session))
  return jsonResponse({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  })
}

/** An item as its response has it, under the same id. */
function toItem(item: SaidItem, session: string) {
  const id = toItemId(item, session)
  const status = 'completed'
  switch (item.type) {
    case 'message': {
      const { type, role, text, name } = item
      const content = role === 'assistant' ? [textPart(text)] : inputParts(item)
      return { type, id, status, role, ...defined({ name }), content }
    }
    case 'call': {
      const { name, input } = item
      const call_id = callIdOf(item, session)
      return { type: 'function_call', id, call_id, name, arguments: JSON.stringify(input), status }
    }
    case 'output': {
      const output = typeof item.output === 'string' ? item.output : JSON.stringify(item.output)
      const call_id = callIdOf(item, session)
      return { type: 'function_call_output', id, call_id, output, status }
    }
  }
}

const callIdOf = (
  { call, callsOf: run }: { readonly call: string; readonly callsOf?: string },
  session: string,
): string => (run === undefined ? call : toCallId({ session, run }, call))

const maxAdded = 20
const items = z.array(inputItem).max(maxAdded)
const createRequest = z.object({ metadata: metadata.nullish(), items: items.nullish() })
const updateRequest = z.object({ metadata })
const addRequest = z.object({ items: items.min(1) })

export async function showConversation(deps: OpenaiDeps, context: RequestContext) {
  const { id, session, principal } = open(deps, context)
  return toConversation(id, unwrap(await session.about(principal)))
}

export async function changeConversation(deps: OpenaiDeps, context: RequestContext) {
  const { id, session, principal } = open(deps, context)
  const change = parseFields(updateRequest, await readJsonObject(context.raw))
  return toConversation(id, unwrap(await session.amend(principal, change)))
}

export async function deleteConversation(deps: OpenaiDeps, context: RequestContext) {
  const { id, session, principal } = open(deps, context)
  unwrap(await session.delete(principal))
  return { id, object: 'conversation.deleted', deleted: true }
}

export async function createConversation(
  deps: OpenaiDeps,
  context: RequestContext,
): Promise<Response> {
  const body = await readJsonObject(context.raw, { whenEmpty: {} })
  const { metadata: about, items: said } = parseFields(createRequest, body)
  const session = deps.sources.ids.next('ses')
  const asking = context.caller
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

function open(deps: OpenaiDeps, context: RequestContext) {
  const id = context.params['id'] ?? ''
  const session = parseConversationId(id)
  if (session === undefined) {
    throw new IsolaError('request_not_found', 'There is no such conversation.')
  }
  return {
    id,
    sessionId: session,
    session: deps.sessions.at(session),
    principal: context.caller.id,
  }
}

const toConversation = (id: string, { createdAtMs, metadata: about }: SessionAbout) => ({
  id,
  object: 'conversation',
  created_at: Math.floor(createdAtMs / 1_000),
  metadata: about ?? {},
})

/** Earlier messages in the client's words. Throws `request_invalid` naming the item. */
async function toMessages(
  { toldAnswers }: OpenaiDeps,
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
export async function addItems(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const { sessionId, session, principal } = open(deps, context)
  const request = parseFields(addRequest, await readJsonObject(context.raw))
  const messages = await toMessages(deps, principal, request.items)
  const newest = { order: 'desc', limit: 1 } as const
  const [last] = unwrap(await session.items(principal, newest)).items
  unwrap(await session.amend(principal, { messages }))
  const added = { order: 'asc', limit: maxAdded, ...defined({ after: last }) } as const
  return pageOfItems(unwrap(await session.items(principal, added)), sessionId)
}

/** Outputs of our own tools are left out. */
export async function listItems(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const { sessionId, session, principal } = open(deps, context)
  const query = toItemsQuery(context.search, sessionId)
  return pageOfItems(unwrap(await session.items(principal, query)), sessionId)
}

export async function showItem(deps: OpenaiDeps, context: RequestContext): Promise<Response> {
  const { sessionId, session, principal } = open(deps, context)
  const only = parseItemOf(sessionId, context.params['item'] ?? '')
  const query = only && ({ only, limit: 1, order: 'asc' } as const)
  const [found] = query ? unwrap(await session.items(principal, query)).items : []
  if (found) return jsonResponse(toItem(found, sessionId))
  throw new IsolaError('request_not_found', 'There is no such item in this conversation.')
}
