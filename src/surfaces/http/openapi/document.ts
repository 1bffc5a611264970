import * as z from 'zod'
import type { JsonObject, Json } from '#contracts/json.ts'
import { apiError } from '#platform/routes/shapes.ts'
import { innerOf } from '#platform/routes/answer.ts'
import {
  replyHeaders,
  requestHeaders,
  type Access,
  type AnyRoute,
  type RouteReply,
  type RouteShape,
  type RouteTable,
} from '#platform/routes/route.ts'

/** Collects the schemas that have a name, of replies: each stands in the document once. */
type NamedSchemas = Record<string, JsonObject>

/**
 * A schema as the document has it: of a request what may be sent, of a reply what comes. A reply may have more than it
 * names, since fields are added at any time.
 */
function toSchema(schema: z.ZodType, io: 'input' | 'output', named: NamedSchemas): JsonObject {
  const {
    $schema: _,
    $defs,
    ...made
  } = z.toJSONSchema(schema, {
    io,
    // A check or transform by a function has no form in JSON Schema: its description stands beside it.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => tidy(jsonSchema as Record<string, unknown>, io),
  })
  for (const [name, one] of Object.entries($defs ?? {})) named[name] = toReferences(one)
  return toReferences(made)
}

function tidy(schema: Record<string, unknown>, io: 'input' | 'output'): void {
  delete schema['readOnly']
  if (io === 'output' && schema['additionalProperties'] === false)
    delete schema['additionalProperties']
  // Every integer of JavaScript is within them.
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) delete schema['minimum']
  if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum']
}

/** Names of schemas are those of the whole document. Made of plain JSON, so nothing is lost on the way. */
const toReferences = (schema: object): JsonObject =>
  JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'),
  ) as JsonObject

const about = `Every route for programs. Errors have one shape; match on \`code\`. Unknown fields and query parameters are refused
under \`/api\`, and ignored under \`/v1\`. Replies may have more fields than are named here: leave alone what you do not know.
Each reply has \`x-request-id\`. Where there is GET there is HEAD; OPTIONS answers 204 with \`allow\`, other methods 405.
Not in here: \`/mcp\`, which speaks the Model Context Protocol, and the pages and endpoints of OAuth sign-ins (docs/oauth.md).`

/** The meaning of an error status, on every route. */
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

/** All routes of a table that are for programs, file by file. */
export async function readRoutes(table: RouteTable): Promise<readonly AnyRoute[]> {
  const loads = [...new Set(Object.values(table).map(({ load }) => load))]
  const files = await Promise.all(loads.map((load) => load()))
  const all = files.flatMap((file) => file.default)
  return all.filter(({ summary }) => summary !== undefined)
}

/** The OpenAPI 3.1 document of a deployment with these routes. */
export function toOpenApiDocument(routes: readonly AnyRoute[]): JsonObject {
  const named: NamedSchemas = {}
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of routes) {
    const [method = '', path = ''] = route.name.split(' ')
    const shown = path.replace(/:(\w+)(\{[^{}]*\})?/g, '{$1}')
    paths[shown] ??= {}
    paths[shown][method.toLowerCase()] = toOperation(route, named)
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

function toOperation(
  { name, roles, summary = '', shape, errors }: AnyRoute,
  named: NamedSchemas,
): JsonObject {
  const [method = '', path = ''] = name.split(' ')
  const parameters = toParameters(shape, named)
  const replies = Object.entries(shape.replies).map(([status, reply]) => [
    status,
    toResponse(reply, named),
  ])
  const failures = errorsOf(shape, roles, errors).map((status) => [
    String(status),
    { $ref: `#/components/responses/${status}` },
  ])
  return {
    operationId: idOf(method, path),
    summary,
    tags: [tagOf(path)],
    ...(roles !== 'anyone' && { security: [{ key: [] }], 'x-roles': [...roles] }),
    ...(parameters.length > 0 && { parameters }),
    ...(shape.body && { requestBody: toRequestBody(shape.body, shape.otherBody, named) }),
    responses: Object.fromEntries([...replies, ...failures]) as JsonObject,
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

function toParameters({ params = {}, query, headers = [] }: RouteShape, named: NamedSchemas) {
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

function toRequestBody(body: z.ZodType, otherBody: string | undefined, named: NamedSchemas) {
  const inner = innerOf(body)
  const schema = toSchema(inner ?? body, 'input', named)
  return {
    required: inner === undefined,
    content: {
      ...toContent('application/json', schema),
      ...(otherBody !== undefined && { [otherBody]: {} }),
    },
  }
}

function toResponse(
  { is: description, headers = [], json, events, text }: RouteReply,
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

/** The statuses of errors that follow from what a route takes, and its own. */
function errorsOf({ params, body, query }: RouteShape, roles: Access, own: readonly number[] = []) {
  const all = [
    ...(roles === 'anyone' ? [500] : [400, 401, 403, 429, 500, 503]),
    ...(params ? [404] : []),
    ...(body ? [400, 413, 415] : []),
    ...(query ? [400] : []),
    ...own,
  ]
  return [...new Set(all)].toSorted((a, b) => a - b)
}
