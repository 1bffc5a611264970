import * as z from 'zod'
import type { OpenaiDeps } from './work.ts'
import {
  agentNames,
  modelListings,
  noSuchModel,
  type CallerReach,
} from '#platform/routes/targets.ts'
import { talkers } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { count, flag, text } from '#platform/routes/shapes.ts'
import { answerChat } from './chat-completions.ts'

/** `GET /v1/models`: the names that a caller may send as `model`, agents first. */
async function listAll(deps: OpenaiDeps, caller: CallerReach) {
  return { object: 'list', data: await listModels(deps, caller) }
}

/** `GET /v1/models/:id`; ids may hold slashes. */
async function showModel(deps: OpenaiDeps, caller: CallerReach, id: string) {
  const models = await listModels(deps, caller)
  const model = models.find((known) => known.id === id)
  if (model) return model
  throw noSuchModel()
}

async function listModels(deps: OpenaiDeps, reach: CallerReach) {
  // The list of stored agents is extra: while the database is away, the client gets the rest.
  const stored = (await deps.agents.listRunnable?.(reach.id).catch(() => [])) ?? []
  const own = stored.map(({ id }) => id).filter((id) => reach.agents?.includes(id) !== false)
  const names = [...new Set([...agentNames(deps, reach), ...own])]
  const agents = names.map((id) => toModel(id, 'isola'))
  const taken = new Set(agents.map((agent) => agent.id))
  const models = modelListings(deps, reach).filter((listing) => !taken.has(listing.id))
  return [...agents, ...models.map((listing) => toModel(listing.id, listing.provider))]
}

/** The field is required, and providers give no date, so it is 0. */
function toModel(id: string, owner: string) {
  return { id, object: 'model', created: 0, owned_by: owner }
}

// The fields are OpenAI's, which says what is in them: the schemas name those that a client looks at first. Handlers
// read query and body themselves; fields that are not named are as there, or ignored.

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
const model = z
  .object({ id: text, object: z.literal('model'), created: count, owned_by: text })
  .meta({ id: 'Model' })
const anyRun = [404, 409, 422, 502, 504]
const headers = ['x-isola-session', 'x-isola-run', 'x-isola-trace'] as const

/** `/v1/chat/completions` and `/v1/models…`. */
export default [
  route('POST /v1/chat/completions', {
    roles: talkers,
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
    readsItself: true,
    handle: (deps: OpenaiDeps, request) => answerChat(deps, request),
  }),
  route('GET /v1/models', {
    roles: talkers,
    summary: 'What `model` may name: agents first, then models.',
    replies: {
      200: {
        is: 'All of them.',
        json: z.object({ object: z.literal('list'), data: z.array(model) }),
      },
    },
    handle: (deps: OpenaiDeps, { caller }) => listAll(deps, caller),
  }),
  route('GET /v1/models/:id{.+}', {
    roles: talkers,
    summary: 'One of them.',
    params: { id: 'Its name, which may hold slashes.' },
    replies: { 200: { is: 'It.', json: model } },
    handle: (deps: OpenaiDeps, { params: of, caller }) => showModel(deps, caller, of.id),
  }),
] as const
