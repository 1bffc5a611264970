import * as z from 'zod'
import { readJsonObject } from './body.ts'
import { jsonResponse } from './responses.ts'
import { parseFields } from './validate.ts'
import type { RequestContext } from './request.ts'
import type { AnyRoute } from './route.ts'

/** A body or a query without a field. */
export const noFields = z.strictObject({})
/** Of a route that needs nothing in its body: there may be an empty object, and nothing else. */
export const noBody = noFields.optional()

/** Checks a request against its route, in this order: query, what the route refuses early, body. Then the handler answers. */
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
  if (!(schema instanceof z.ZodOptional)) return parseFields(schema, await readJsonObject(raw))
  const inner = schema.unwrap() as z.ZodType // what `optional` was called on
  return parseFields(inner, await readJsonObject(raw, { whenEmpty: {} }))
}
