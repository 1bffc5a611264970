import type { ApiContract, ApiReply } from '#contracts/routes/contract.ts'
import { replyHeaders, requestHeaders } from '#contracts/routes/contract.ts'
import { apiContracts } from '#client/all-contracts.ts'
import { apiError } from '#contracts/routes/shapes.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { access, type Access } from '#platform/routes/access.ts'
import { toSchema, type NamedSchemas } from './schema.ts'

const about = `Every route for programs. Errors have one shape; match on \`code\`. Unknown fields and query parameters are refused
under \`/api\`, and ignored under \`/v1\`. Replies may have more fields than are named here: leave alone what you do not know.
Each reply has \`x-request-id\`. Where there is GET there is HEAD; OPTIONS answers 204 with \`allow\`, other methods 405.
Not in here: \`/mcp\`, which speaks the Model Context Protocol, and the pages and endpoints of OAuth sign-ins (docs/oauth.md).`

/** What an error of a status means, whatever the route. */
const errorTexts: Readonly<Record<number, string>> = {
  400: 'What was sent is not valid; `param` names the field.',
  401: 'No key, or a wrong one.',
  403: 'The key may not do this.',
  404: 'It is not there, or not yours.',
  409: 'It cannot be done as things are.',
  413: 'The body is too large.',
  415: 'The body is of another kind than is taken.',
  422: 'The idempotency key was used with another body, or what was brought cannot be installed.',
  429: 'Too much: `retry-after` says how long to wait.',
  500: 'Something went wrong on our side: quote `request_id` to the operator.',
  502: 'A model server, or another one behind us, failed.',
  503: 'Not now: `retry-after` says how long to wait.',
  504: 'A model took too long.',
}

/** The OpenAPI 3.1 document of this deployment, made of the contracts. */
export function toOpenApiDocument(): JsonObject {
  const named: NamedSchemas = {}
  const paths: Record<string, Record<string, Json>> = {}
  for (const [route, contract] of Object.entries(apiContracts)) {
    const [method = '', path = ''] = route.split(' ')
    const shown = path.replace(/:(\w+)(\{[^{}]*\})?/g, '{$1}')
    paths[shown] ??= {}
    paths[shown][method.toLowerCase()] = toOperation({ method, path, contract, named })
  }
  const error = toSchema(apiError, 'output', named)
  const responses = Object.entries(errorTexts).map(([status, description]) => [
    status,
    { description, content: toContent('application/json', error) },
  ])
  return {
    openapi: '3.1.0',
    info: { title: 'Isola', version: '1', description: about },
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(named).toSorted(([a], [b]) => (a < b ? -1 : 1))),
      responses: Object.fromEntries(responses),
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key of this deployment, or an access token of an OAuth sign-in.',
        },
      },
    },
  }
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly contract: ApiContract
  readonly named: NamedSchemas
}

function toOperation({ method, path, contract, named }: Operation): JsonObject {
  const methods: Readonly<Record<string, Access>> = Object(Reflect.get(access, path))
  const allowed = methods[method] ?? 'anyone'
  const parameters = toParameters(contract, named)
  const replies = Object.entries(contract.replies).map(([status, reply]) => [
    status,
    toResponse(reply, named),
  ])
  const errors = errorsOf(contract, allowed).map((status) => [
    String(status),
    { $ref: `#/components/responses/${status}` },
  ])
  return {
    operationId: idOf(method, path),
    summary: contract.summary,
    tags: [tagOf(path)],
    ...(allowed !== 'anyone' && { security: [{ key: [] }], 'x-roles': [...allowed] }),
    ...(parameters.length > 0 && { parameters }),
    ...(contract.body && { requestBody: toRequestBody(contract, named) }),
    responses: Object.fromEntries([...replies, ...errors]) as JsonObject,
  }
}

/** `GET /api/sessions/:id/runs/:run` is `getSessionsByIdRunsByRun`. */
function idOf(method: string, path: string): string {
  const words = path
    .replace(/^\/api/, '')
    .replace(/\{[^{}]*\}/g, '')
    .replaceAll('/:', '/by/')
    .split(/[^A-Za-z0-9]+/)
  const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
  return method.toLowerCase() + words.map(capital).join('')
}

function tagOf(path: string): string {
  if (path.startsWith('/v1/')) return 'openai'
  return /^\/api\/(sessions|operator)/.exec(path)?.[1] ?? 'deployment'
}

function toParameters({ params = {}, query, headers = [] }: ApiContract, named: NamedSchemas) {
  const inPath = Object.entries(params).map(([name, description]) => {
    return { name, in: 'path', required: true, description, schema: { type: 'string' } }
  })
  const { properties = {}, required = [] } = query ? toSchema(query, 'input', named) : {}
  const inQuery = Object.entries(properties as Readonly<Record<string, JsonObject>>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: (required as readonly string[]).includes(name),
      ...(description && { description }),
      schema,
    }),
  )
  const inHeader = headers.map((name) => {
    const description = requestHeaders[name]
    return { name, in: 'header', required: false, description, schema: { type: 'string' } }
  })
  return [...inPath, ...inQuery, ...inHeader]
}

function toRequestBody({ body, isBodyOptional, otherBody }: ApiContract, named: NamedSchemas) {
  const schema = body && toSchema(body, 'input', named)
  return {
    required: isBodyOptional !== true,
    content: {
      ...(schema && toContent('application/json', schema)),
      ...(otherBody !== undefined && { [otherBody]: {} }),
    },
  }
}

function toResponse(
  { is: description, headers = [], json, events, text }: ApiReply,
  named: NamedSchemas,
): JsonObject {
  const head = headers.map((name) => [
    name,
    { description: replyHeaders[name], schema: { type: 'string' } },
  ])
  return {
    description: events === undefined ? description : `${description} ${events}`,
    ...(headers.length > 0 && { headers: Object.fromEntries(head) as JsonObject }),
    content: {
      ...(json && toContent('application/json', toSchema(json, 'output', named))),
      ...(events !== undefined && toContent('text/event-stream', { type: 'string' })),
      ...(text !== undefined && toContent(text, { type: 'string' })),
    },
  }
}

const toContent = (type: string, schema: JsonObject) => ({ [type]: { schema } })

/** What everybody may be told, and what follows from what a route takes. */
function errorsOf({ params, body, query, errors = [] }: ApiContract, allowed: Access) {
  const all = [
    ...(allowed === 'anyone' ? [500] : [400, 401, 403, 429, 500, 503]),
    ...(params ? [404] : []),
    ...(body ? [400, 413, 415] : []),
    ...(query ? [400] : []),
    ...errors,
  ]
  return [...new Set(all)].toSorted((a, b) => a - b)
}
