import { grantsQuery } from './keys-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { OAuthGrant } from '../types/oauth.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { administrator } from '#platform/routes/administrator.ts'

const grantId = /^grant_[0-9a-f]{22}$/

type Handle = (deps: HttpDeps) => (context: HttpContext) => Promise<Response>

/** `GET /api/operator/grants`: what clients were allowed in OAuth sign-ins, newest first; those that have ended too. */
export const listGrants: Handle = (deps) => async (context) => {
  const { principal, limit = defaultListLimit } = parseFields(grantsQuery, context.req.query())
  const query = { limit, ...(principal !== undefined && { principal }) }
  const grants = (await deps.oauth?.grants.list(query)) ?? []
  return jsonResponse({ grants: grants.map((grant) => shown(deps, grant)) })
}

/** Ends what a client was allowed, with the next request. Repeated, it is answered alike. */
export const revokeGrant: Handle = (deps) => async (context) => {
  const id = context.req.param('grant') ?? ''
  parseFields(noFields, await readJsonObject(context.req.raw, { whenEmpty: {} }))
  // A malformed id looks like one that is absent.
  if (!deps.oauth || !grantId.test(id))
    throw new IsolaError('request_not_found', 'There is no such grant.')
  return jsonResponse(shown(deps, await deps.oauth.grants.revoke(id, administrator(deps, context))))
}

function shown({ sources }: HttpDeps, grant: OAuthGrant) {
  const { libraryId: _, redeemedAtMs, revokedAtMs, ...rest } = grant
  return {
    ...rest,
    state: stateOf(grant, sources.clock.nowMs()),
    redeemedAtMs: redeemedAtMs ?? null,
    revokedAtMs: revokedAtMs ?? null,
  }
}

function stateOf({ revokedAtMs, expiresAtMs, redeemedAtMs }: OAuthGrant, nowMs: number) {
  if (revokedAtMs !== undefined) return 'revoked'
  if (expiresAtMs <= nowMs) return 'expired'
  return redeemedAtMs === undefined ? 'waiting' : 'active'
}
