import { defined } from '#contracts/defined.ts'
import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { errorMessage } from '#contracts/errors.ts'
import { fieldsOf, withoutNulls } from '#features/mcp-servers/types.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { JsonObject } from '#contracts/json.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import { parseFields } from '#platform/routes/validate.ts'

const text = z.string()
const integer = z.int()
const id = z.union([text, integer], 'must be a text or an integer')
const object = z.looseObject({})
const page = z.looseObject({ cursor: text.optional() })
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const ofUri = z.looseObject({ uri: text })

/** The parameters of each method whose fields can be wrong. The library says of them what its validator says. */
const paramsOf: Readonly<Record<string, z.ZodType>> = {
  initialize: z.looseObject({
    protocolVersion: text,
    capabilities: object,
    clientInfo: z.looseObject({ name: text, version: text }),
  }),
  'tools/list': page,
  'resources/list': page,
  'resources/templates/list': page,
  'prompts/list': page,
  'skills/list': page,
  'tools/call': z.looseObject({ name: text, arguments: object.optional() }),
  'resources/read': ofUri,
  'resources/subscribe': ofUri,
  'resources/unsubscribe': ofUri,
  'skills/get': ofUri,
  'resources/directory/read': ofUri,
  'prompts/get': z.looseObject({ name: text, arguments: z.record(text, text).optional() }),
  'logging/setLevel': z.looseObject({
    level: z.enum(levels, `must be one of ${levels.join(', ')}`),
  }),
  'completion/complete': z.looseObject({
    ref: z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('ref/prompt'), name: text }),
      z.looseObject({ type: z.literal('ref/resource'), uri: text }),
    ]),
    argument: z.looseObject({ name: text, value: text }),
  }),
}
const ofOlderClients: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])
/** A request of 2026-07-28 names its protocol itself. */
const isModern = ({ params }: JsonObject): boolean =>
  PROTOCOL_VERSION_META_KEY in Object(Object(params)['_meta'])

const meta = z.looseObject({ progressToken: id.optional() }).optional()
const message = z.looseObject({
  jsonrpc: z.literal('2.0', 'must be "2.0"'),
  id: id.optional(),
  method: text,
  params: z.looseObject({ _meta: meta }).optional(),
})

/**
 * A message of a client, with what is null left out: many languages write null for what is absent. Null stays in what a
 * tool is given, where it is the tool's to read.
 */
export function withoutNullParams(body: JsonObject): JsonObject {
  const { method, params } = body
  if (typeof method !== 'string') return body
  const { params: _null, ...rest } = body
  if (params === null || params === undefined) return rest
  if (!isFields(params)) return body
  const { arguments: given, inputResponses, ...others } = fieldsOf(params)
  const kept = method === 'tools/call' ? given : given && withoutNulls(given)
  const read = {
    ...(withoutNulls(others) as JsonObject),
    ...defined({ arguments: kept, inputResponses }),
  }
  // Both are required, and both say nothing that is needed here.
  const { capabilities = {}, clientInfo } = fieldsOf(read)
  const about = isFields(clientInfo) ? { clientInfo: { version: '', ...clientInfo } } : {}
  const greeting = method === 'initialize' ? { capabilities, ...about } : {}
  return { ...rest, params: { ...read, ...greeting } as JsonObject }
}

/** The refusal of a message, by its field and in the form of the protocol; `undefined` if the message can be read. */
export function whyUnread(body: JsonObject): Response | undefined {
  // An answer to what we asked.
  if (!('method' in body) && ('result' in body || 'error' in body)) return undefined
  const told = (code: number, error: unknown, status: number) => {
    const known = id.safeParse(body['id'])
    const error_ = { code, message: errorMessage(error) }
    return jsonResponse(
      { jsonrpc: '2.0', id: known.success ? known.data : null, error: error_ },
      { status },
    )
  }
  try {
    parseFields(message, body)
  } catch (error) {
    return told(-32_600, error, 400)
  }
  const method = String(body['method'])
  // Unknown to the protocol of 2026-07-28: the library answers 404, whatever the parameters are.
  if (ofOlderClients.has(method) && isModern(body)) return undefined
  const params = paramsOf[method]
  // A notification is not answered.
  if (!params || body['id'] === undefined) return undefined
  try {
    parseFields(z.looseObject({ params }), { params: {}, ...body })
    return undefined
  } catch (error) {
    return told(-32_602, error, 200)
  }
}
