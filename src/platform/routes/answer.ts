import * as z from 'zod'
import { readJsonObject } from './body.ts'
import { parseFields } from './validate.ts'
import type { RequestContext } from './request.ts'
import type { AnyRoute } from './route.ts'

/** A JSON answer; 200 unless it says otherwise. */
export function jsonResponse(
  body: unknown,
  options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  return new Response(JSON.stringify(body), {
    status: options.status ?? 200,
    headers: { 'content-type': 'application/json', ...options.headers },
  })
}

/** Server-sent events that no proxy holds back or keeps. */
export function eventStreamResponse(
  body: ReadableStream<Uint8Array> | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      // nginx and its like would hold the stream back until it ends.
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

/** The header of an answer to a repeated request: its work had been accepted before. */
export function replayed(isReplayed: boolean): Readonly<Record<string, string>> {
  return isReplayed ? { 'idempotent-replayed': 'true' } : {}
}

/** A body or a query without a field. */
export const noFields = z.strictObject({})
/** The body of a route that needs none: an empty object may be there, and nothing else. */
export const noBody = noFields.optional()

/**
 * Checks a request against its route, in this order: query, the route's early check, body. Then the handler answers.
 */
export async function answer<Deps>(
  route: AnyRoute<Deps>,
  deps: Deps,
  context: RequestContext,
): Promise<Response> {
  const { shape, readsItself } = route
  const query = readsItself ? undefined : queryOf(route, context)
  route.check?.(context)
  const body = shape.body && !readsItself ? await bodyOf(shape.body, context.raw) : undefined
  const answered = await route.handle(deps, { ...context, query, body })
  if (answered instanceof Response) return answered
  return jsonResponse(answered, { status: Number(Object.keys(shape.replies)[0]) })
}

/** Under `/api` a route that declares no query refuses whatever is in it; clients of OpenAI may send what they like. */
function queryOf({ name, shape }: AnyRoute, { search }: RequestContext): unknown {
  if (shape.query) return parseFields(shape.query, search)
  return name.includes(' /api/') ? parseFields(noFields, search) : undefined
}

async function bodyOf(schema: z.ZodType, raw: Request): Promise<unknown> {
  const inner = innerOf(schema)
  if (!inner) return parseFields(schema, await readJsonObject(raw))
  return parseFields(inner, await readJsonObject(raw, { whenEmpty: {} }))
}

/** The schema that `.optional()` was called on; nothing for a body that is needed. */
export const innerOf = (schema: z.ZodType): z.ZodType | undefined =>
  schema.def.type === 'optional' ? (schema as z.ZodOptional<z.ZodType>).def.innerType : undefined
