import { dereference, validate, type Schema } from '@cfworker/json-schema'
// The file, which a test holds to be what the contracts say: to make it anew costs each test file half a second.
import published from '../../docs/openapi.json' with { type: 'json' }

interface Media {
  readonly schema?: Schema
}
interface Reply {
  readonly $ref?: string
  readonly content?: Readonly<Record<string, Media>>
}
interface Operation {
  readonly responses: Readonly<Record<string, Reply>>
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly responses: Readonly<Record<string, Reply>> }
}

/** Routes that the document leaves out: pages, sign-ins and MCP. */
const isLeftOut = (path: string): boolean => !/^\/(api|v1)(\/|$)/.test(path) && path !== '/healthz'

/** Nothing in a reply that the document does not name, though a client has to bear it. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]))
  const isObject = inner['type'] === 'object' && typeof inner['properties'] === 'object'
  return isObject && inner['additionalProperties'] === undefined
    ? { ...inner, additionalProperties: false }
    : inner
}

function open() {
  const document = closed(published) as Document
  const lookup = dereference(document as unknown as Schema)
  const routes = Object.entries(document.paths).map(([path, operations]) => {
    const parts = path.split('/').map((part) => {
      if (!part.startsWith('{')) return part.replaceAll('.', '\\.')
      return path === '/v1/models/{id}' ? '.+' : '[^/]+'
    })
    return { path, operations, form: new RegExp(`^${parts.join('/')}/?$`) }
  })
  return { document, lookup, routes }
}
let opened: ReturnType<typeof open> | undefined

/** The first of the document that fits, as the router has it: `compact` is no id. */
function find(path: string) {
  opened ??= open()
  return opened.routes.find(({ form }) => form.test(path))
}

/** The fault of a reply by the OpenAPI document; `undefined` if there is none. The reply can be read afterwards. */
export async function problemOf(
  { method, url }: Pick<Request, 'method' | 'url'>,
  reply: Response,
): Promise<string | undefined> {
  const { pathname } = new URL(url)
  if (isLeftOut(pathname) || method === 'OPTIONS') return undefined
  const verb = (method === 'HEAD' ? 'GET' : method).toLowerCase()
  const route = find(pathname)
  const operation = route?.operations[verb]
  const of = `${method} ${route?.path ?? pathname} ${reply.status}`
  // Without an operation in the document the reply must be a refusal.
  const isRefused = [401, 403, 404, 405, 429, 503].includes(reply.status)
  if (!operation) return isRefused ? undefined : `${of}: the document has no such route`
  const said = operation.responses[String(reply.status)]
  if (!said) return `${of}: the document has no such status`
  const { document, lookup } = opened ?? open()
  const { content = {} } = said.$ref ? document.components.responses[String(reply.status)]! : said
  const type = reply.headers.get('content-type')?.split(';')[0] ?? ''
  const media = content[type]
  if (!media) return `${of}: the document has no reply of type ${JSON.stringify(type)}`
  if (method === 'HEAD' || type !== 'application/json' || !media.schema) return undefined
  const body: unknown = await reply.clone().json()
  const { valid, errors } = validate(body, media.schema, '2020-12', lookup, false)
  if (valid) return undefined
  const deepest = errors.toSorted(
    (a, b) => b.instanceLocation.split('/').length - a.instanceLocation.split('/').length,
  )[0]
  const { instanceLocation = '', error } = deepest ?? {}
  const why = error === 'False boolean schema.' ? 'the document has no such field' : error
  return `${of}: ${instanceLocation}: ${why}`
}

interface App {
  fetch: (request: Request, ...more: never[]) => Response | Promise<Response>
}

/** The same app; what it answers and the document does not have is thrown. */
export function checkReplies<T extends App>(app: T): T {
  const { fetch } = app
  app.fetch = async (request, ...more) => {
    const { method, url } = request
    const reply = await fetch(request, ...more)
    const problem = await problemOf({ method, url }, reply)
    if (problem !== undefined) throw new Error(problem)
    return reply
  }
  return app
}
