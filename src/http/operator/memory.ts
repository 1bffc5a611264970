import { noFields } from '#contracts/api/requests/lists.ts'
import { readJsonObject } from '../body.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { tellMemory } from '../memory.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'

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
