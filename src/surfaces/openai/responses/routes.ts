import * as z from 'zod'
import { talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, flag, text } from '#platform/routes/shapes.ts'
import type { OpenaiDeps } from '../work.ts'
import { compact } from './compact.ts'
import { createResponse } from './create-response.ts'
import { item, items, itemsQuery } from './replies.ts'
import { cancelResponse, deleteResponse, listInputItems, showResponse } from './stored-response.ts'

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
const input = z.union([text, z.array(z.looseObject({}))])
const anyRun = [404, 409, 422, 502, 504]
const headers = ['x-isola-session', 'x-isola-run', 'x-isola-trace'] as const
const id = { id: 'Its id.' }

/** `/v1/responses…`, the Responses API. As for `/v1/chat/completions`, handlers read query and body themselves. */
export default [
  route('POST /v1/responses', {
    roles: talkers,
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
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => createResponse(deps, request),
  }),
  route('POST /v1/responses/compact', {
    roles: talkers,
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
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => compact(deps, request),
  }),
  route('GET /v1/responses/:id', {
    roles: talkers,
    summary: 'A response.',
    params: id,
    query: z.object({ stream: text.optional(), starting_after: text.optional() }),
    replies: {
      200: { is: 'As it is now.', headers, json: response, events: 'With `stream`: its events.' },
    },
    errors: anyRun,
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => showResponse(deps, request),
  }),
  route('DELETE /v1/responses/:id', {
    roles: talkers,
    summary: 'Forgets a response.',
    params: id,
    replies: {
      200: {
        is: 'It is not found from now on.',
        json: z.object({ id: text, object: z.literal('response'), deleted: z.literal(true) }),
      },
    },
    errors: [409],
    handle: (deps: OpenaiDeps, request) => deleteResponse(deps, request),
  }),
  route('GET /v1/responses/:id/input_items', {
    roles: talkers,
    summary: 'What the request of a response brought.',
    params: id,
    query: itemsQuery,
    replies: { 200: { is: 'A page of it.', json: items } },
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => listInputItems(deps, request),
  }),
  route('POST /v1/responses/:id/cancel', {
    roles: talkers,
    summary: 'Cancels a response.',
    params: id,
    replies: { 200: { is: 'As it then is.', headers, json: response } },
    errors: [409],
    handle: (deps: OpenaiDeps, request) => cancelResponse(deps, request),
  }),
] as const
