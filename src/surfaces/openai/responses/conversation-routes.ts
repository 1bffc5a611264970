import * as z from 'zod'
import { talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, object, text } from '#platform/routes/shapes.ts'
import type { OpenaiDeps } from '../work.ts'
import {
  addItems,
  changeConversation,
  createConversation,
  deleteConversation,
  listItems,
  showConversation,
  showItem,
} from './conversations.ts'
import { item, items, itemsQuery } from './replies.ts'

const conversation = z
  .object({ id: text, object: z.literal('conversation'), created_at: count, metadata: object })
  .meta({ id: 'Conversation' })
const metadata = z.record(text, text).nullish()
const id = { id: 'Its id.' }
const inConversation = { 200: { is: 'The conversation.', json: conversation } }

/** `/v1/conversations…`: a session that responses are sent to. Its agent is the one of its first response. */
export default [
  route('POST /v1/conversations', {
    roles: talkers,
    summary: 'Makes a conversation that responses are sent to.',
    body: z.looseObject({ metadata, items: z.array(z.looseObject({})).nullish() }).optional(),
    replies: inConversation,
    errors: [409],
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => createConversation(deps, request),
  }),
  route('GET /v1/conversations/:id', {
    roles: talkers,
    summary: 'A conversation.',
    params: id,
    replies: inConversation,
    handle: (deps: OpenaiDeps, request) => showConversation(deps, request),
  }),
  route('POST /v1/conversations/:id', {
    roles: talkers,
    summary: 'Changes what a client keeps with a conversation.',
    params: id,
    body: z.looseObject({ metadata: z.record(text, text) }),
    replies: inConversation,
    errors: [409],
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => changeConversation(deps, request),
  }),
  route('DELETE /v1/conversations/:id', {
    roles: talkers,
    summary: 'Deletes a conversation with everything in it.',
    params: id,
    replies: {
      200: {
        is: 'It is gone.',
        json: z.object({
          id: text,
          object: z.literal('conversation.deleted'),
          deleted: z.literal(true),
        }),
      },
    },
    errors: [409],
    handle: (deps: OpenaiDeps, request) => deleteConversation(deps, request),
  }),
  route('GET /v1/conversations/:id/items', {
    roles: talkers,
    summary: 'What was said in a conversation.',
    params: id,
    query: itemsQuery,
    replies: { 200: { is: 'A page of it.', json: items } },
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => listItems(deps, request),
  }),
  route('POST /v1/conversations/:id/items', {
    roles: talkers,
    summary: 'Adds to what was said.',
    params: id,
    body: z.looseObject({ items: z.array(z.looseObject({})) }),
    replies: { 200: { is: 'What was added.', json: items } },
    errors: [409],
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => addItems(deps, request),
  }),
  route('GET /v1/conversations/:id/items/:item', {
    roles: talkers,
    summary: 'One thing that was said.',
    params: { ...id, item: 'The item’s id.' },
    replies: { 200: { is: 'The item.', json: item } },
    handle: (deps: OpenaiDeps, request) => showItem(deps, request),
  }),
] as const
