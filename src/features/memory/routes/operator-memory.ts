import { noFields } from '#contracts/routes/request-lists.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { tellMemory } from './memory.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

const ownerOf = (context: HttpContext): string => context.req.param('principal') ?? ''

/** `GET /api/operator/memory/:principal`: how much there is. What it says is its principal's alone. */
export const memoryOfPrincipal: Handle = (deps) => async (context) => {
  const principal = ownerOf(context)
  const { stats = [] } = await deps.memory.ofPrincipal(principal)({ verb: 'stats' })
  return jsonResponse({ principal, places: stats })
}

/** `DELETE /api/operator/memory/:principal`: all of it, and its key. */
export const forgetPrincipal: Handle = (deps) => async (context) => {
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  const owner = ownerOf(context)
  const { forgotten = 0 } = await deps.memory.ofPrincipal(owner)({ verb: 'forget' })
  await tellMemory(deps, context, { change: 'forgotten', count: forgotten, owner })
  return jsonResponse({ forgotten })
}
