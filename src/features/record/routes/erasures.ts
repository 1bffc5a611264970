import { eraseMyselfRequest, erasuresQuery, startErasureRequest } from './erasures-requests.ts'
import type { Erasure } from '../types/erasure.ts'
import { IsolaError } from '#contracts/errors.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { administrator } from '#platform/routes/administrator.ts'

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `POST /api/operator/erasures`: erases somebody, for good. It goes on by itself. */
export const startErasure: Handle = (deps) => async (context) => {
  const body = await readJsonObject(context.req.raw)
  const { principal, confirm } = parseFields(startErasureRequest, body)
  requireSame(confirm, principal)
  const by = administrator(deps, context)
  const erasure = await deps.erasures.begin(principal, by, by.principal === principal)
  return jsonResponse(shown(erasure), { status: 202 })
}

/** `GET /api/operator/erasures`: the newest first. */
export const listErasures: Handle = (deps) => async (context) => {
  const { limit = defaultListLimit } = parseFields(erasuresQuery, context.req.query())
  return jsonResponse({ erasures: (await deps.erasures.list(limit)).map(shown) })
}

/** `GET /api/operator/erasures/:erasure`: how far it is, or what came of it. */
export const findErasure: Handle = (deps) => async (context) =>
  jsonResponse(shown(await deps.erasures.find(context.req.param('erasure') ?? '')))

/** `POST /api/erasure`: erases the caller. Nobody is let in with this key any more, so this is the last answer to it. */
export function addOwnErasureRoute(addRoute: AddRoute, deps: HttpDeps): void {
  addRoute('/api/erasure', {
    POST: async (context) => {
      const { id, token, agents } = context.get('principal')
      if (token) {
        const message =
          'An access token was given to a program for work: erase yourself with a key.'
        throw new IsolaError('request_forbidden', message)
      }
      // One that may talk to a few agents is given to a program as well: it may not end a person's memory, agents and conversations.
      if (agents) {
        const message = `This key may talk to ${agents.join(', ')} alone, and erases nobody: ask an operator (POST /api/operator/erasures).`
        throw new IsolaError('request_forbidden', message)
      }
      const body = await readJsonObject(context.req.raw)
      const { confirm } = parseFields(eraseMyselfRequest, body)
      requireSame(confirm, id)
      const erasure = await deps.erasures.begin(id, administrator(deps, context), true)
      return jsonResponse(shown(erasure), { status: 202 })
    },
  })
}

/** Typed once more: nothing brings back what is gone. */
function requireSame(confirm: string, principal: string): void {
  if (confirm === principal) return
  const message = `confirm: must be the name of whoever is erased ("${principal}"): it cannot be taken back.`
  throw new IsolaError('request_invalid', message, { param: 'confirm' })
}

function shown({ progress, ...about }: Erasure) {
  const { pass, erased, problems } = progress
  return { ...about, pass, erased, problems }
}
