import * as z from 'zod'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { count, flag, object, text } from '#contracts/routes/shapes.ts'

// Their fields are OpenAI's, who says what is in them: here are those that a client looks at first.
const tokens = z.object({ prompt_tokens: count, completion_tokens: count, total_tokens: count })
const completion = z
  .looseObject({
    id: text,
    object: z.literal('chat.completion'),
    created: count,
    model: text,
    choices: z.array(
      z.looseObject({
        index: count,
        message: z.looseObject({ role: z.literal('assistant'), content: text.nullable() }),
        finish_reason: z.enum(['stop', 'length', 'tool_calls', 'content_filter']),
      }),
    ),
    usage: tokens,
  })
  .meta({ id: 'ChatCompletion' })

const item = z.looseObject({ type: text }).meta({ id: 'ResponseItem' })
const response = z
  .looseObject({
    id: text,
    object: z.literal('response'),
    created_at: count,
    status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    model: text,
    output: z.array(item),
    usage: z.looseObject({ total_tokens: count }).nullable(),
  })
  .meta({ id: 'Response' })
const conversation = z
  .object({ id: text, object: z.literal('conversation'), created_at: count, metadata: object })
  .meta({ id: 'Conversation' })
const items = z
  .object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: text.nullable(),
    last_id: text.nullable(),
    has_more: flag,
  })
  .meta({ id: 'ResponseItems' })
const model = z
  .object({ id: text, object: z.literal('model'), created: count, owned_by: text })
  .meta({ id: 'Model' })

const metadata = z.record(text, text).nullish()
const itemsQuery = z.object({
  limit: text.optional(),
  after: text.optional(),
  order: z.enum(['asc', 'desc']).optional(),
})
const input = z.union([text, z.array(z.looseObject({}))])
const anyRun = [404, 409, 422, 502, 504]
const headers = ['x-isola-session', 'x-isola-run', 'x-isola-trace'] as const
const id = { id: 'Its id.' }
const inConversation = { 200: { is: 'The conversation.', json: conversation } }

/** `/v1…`, for clients of OpenAI's API. Fields that are not named are as there, or ignored. */
export const openaiContracts = {
  'POST /v1/chat/completions': {
    summary: 'One answer (OpenAI’s Chat Completions).',
    headers: ['idempotency-key', 'traceparent', 'x-isola-session', 'x-isola-persona'],
    body: z.looseObject({
      model: text,
      messages: z.array(z.looseObject({ role: text })),
      stream: flag.nullish(),
    }),
    replies: {
      200: { is: 'The answer.', headers, json: completion, events: 'With `stream`: its chunks.' },
    },
    errors: anyRun,
  },
  'POST /v1/responses': {
    summary: 'One response (OpenAI’s Responses).',
    headers: ['idempotency-key', 'traceparent', 'x-isola-session', 'x-isola-persona'],
    body: z.looseObject({
      model: text,
      input,
      instructions: text.nullish(),
      previous_response_id: text.min(1).nullish(),
      conversation: z.union([text, z.looseObject({ id: text })]).nullish(),
      stream: flag.nullish(),
      background: flag.nullish(),
    }),
    replies: {
      200: { is: 'The response.', headers, json: response, events: 'With `stream`: its events.' },
    },
    errors: anyRun,
  },
  'POST /v1/responses/compact': {
    summary: 'Makes a conversation that its client keeps shorter.',
    headers: ['idempotency-key', 'traceparent'],
    body: z.looseObject({ model: text, input }),
    replies: {
      200: {
        is: 'What to send from now on.',
        headers,
        json: z.looseObject({
          id: text,
          object: z.literal('response.compaction'),
          created_at: count,
          output: z.array(item),
        }),
      },
    },
    errors: anyRun,
  },
  'GET /v1/responses/:id': {
    summary: 'A response.',
    params: id,
    query: z.object({ stream: text.optional(), starting_after: text.optional() }),
    replies: {
      200: { is: 'As it is now.', headers, json: response, events: 'With `stream`: its events.' },
    },
    errors: anyRun,
  },
  'DELETE /v1/responses/:id': {
    summary: 'Forgets a response.',
    params: id,
    replies: {
      200: {
        is: 'It is not found from now on.',
        json: z.object({ id: text, object: z.literal('response'), deleted: z.literal(true) }),
      },
    },
    errors: [409],
  },
  'GET /v1/responses/:id/input_items': {
    summary: 'What the request of a response brought.',
    params: id,
    query: itemsQuery,
    replies: { 200: { is: 'A page of it.', json: items } },
  },
  'POST /v1/responses/:id/cancel': {
    summary: 'Cancels a response.',
    params: id,
    replies: { 200: { is: 'As it then is.', headers, json: response } },
    errors: [409],
  },
  'POST /v1/conversations': {
    summary: 'Makes a conversation that responses are sent to.',
    body: z.looseObject({ metadata, items: z.array(z.looseObject({})).nullish() }),
    isBodyOptional: true,
    replies: inConversation,
    errors: [409],
  },
  'GET /v1/conversations/:id': {
    summary: 'A conversation.',
    params: id,
    replies: inConversation,
  },
  'POST /v1/conversations/:id': {
    summary: 'Changes what a client keeps with a conversation.',
    params: id,
    body: z.looseObject({ metadata: z.record(text, text) }),
    replies: inConversation,
    errors: [409],
  },
  'DELETE /v1/conversations/:id': {
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
  },
  'GET /v1/conversations/:id/items': {
    summary: 'What was said in a conversation.',
    params: id,
    query: itemsQuery,
    replies: { 200: { is: 'A page of it.', json: items } },
  },
  'POST /v1/conversations/:id/items': {
    summary: 'Adds to what was said.',
    params: id,
    body: z.looseObject({ items: z.array(z.looseObject({})) }),
    replies: { 200: { is: 'What was added.', json: items } },
    errors: [409],
  },
  'GET /v1/conversations/:id/items/:item': {
    summary: 'One thing that was said.',
    params: { ...id, item: 'The item’s id.' },
    replies: { 200: { is: 'The item.', json: item } },
  },
  'GET /v1/models': {
    summary: 'What `model` may name: agents first, then models.',
    replies: {
      200: {
        is: 'All of them.',
        json: z.object({ object: z.literal('list'), data: z.array(model) }),
      },
    },
  },
  'GET /v1/models/:id{.+}': {
    summary: 'One of them.',
    params: { id: 'Its name, which may hold slashes.' },
    replies: { 200: { is: 'It.', json: model } },
  },
} satisfies ApiContracts
