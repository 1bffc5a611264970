import * as z from 'zod'
import { IsolaError } from '#contracts/errors.ts'
import type { OAuthGrant, OAuthService } from '../types/oauth.ts'
import type { Sources } from '#contracts/sources.ts'
import { noBody } from '#platform/routes/answer.ts'
import { defaultListLimit } from '#platform/routes/queries.ts'
import { operators } from '#platform/routes/roles.ts'
import { route } from '#platform/routes/route.ts'
import { atMs, text, reply } from '#platform/routes/shapes.ts'
import { grantsQuery } from './requests.ts'

interface GrantDeps {
  /** Absent without the bindings that sign-ins need. */
  readonly oauth?: OAuthService
  readonly sources: Sources
}

const grant = z
  .object({
    id: text,
    principal: text,
    client: text,
    clientName: text,
    redirectUri: text,
    resource: text,
    scopes: z.array(text),
    signedInWith: text,
    createdAtMs: atMs,
    expiresAtMs: atMs,
    state: z.enum(['waiting', 'active', 'expired', 'revoked']),
    redeemedAtMs: atMs.nullable(),
    revokedAtMs: atMs.nullable(),
  })
  .meta({ id: 'SignInGrant' })

/** `/api/operator/grants…`: grants of clients from OAuth sign-ins, ended ones too. */
export default [
  route('GET /api/operator/grants', {
    roles: operators,
    summary: 'Lists what clients were allowed in OAuth sign-ins, newest first.',
    query: grantsQuery,
    replies: reply(200, 'The grants.', z.object({ grants: z.array(grant) })),
    async handle({ oauth, sources }: GrantDeps, { query }) {
      const { principal, limit = defaultListLimit } = query
      const asked = { limit, ...(principal !== undefined && { principal }) }
      const grants = (await oauth?.grants.list(asked)) ?? []
      return { grants: grants.map((one) => shownGrant(one, sources.clock.nowMs())) }
    },
  }),
  route('POST /api/operator/grants/:grant/revoke', {
    roles: operators,
    summary: 'Ends what a client was allowed, with the next request.',
    params: { grant: 'Its id: `grant_` and 22 characters.' },
    body: noBody,
    replies: reply(200, 'The grant as it then is.', grant),
    async handle({ oauth, sources }: GrantDeps, { params, by }) {
      // A malformed id gets the same answer as an absent one.
      if (!oauth || !/^grant_[0-9a-f]{22}$/.test(params.grant))
        throw new IsolaError('request_not_found', 'There is no such grant.')
      return shownGrant(await oauth.grants.revoke(params.grant, by()), sources.clock.nowMs())
    },
  }),
] as const

function shownGrant(grant: OAuthGrant, nowMs: number) {
  const { libraryId: _, redeemedAtMs, revokedAtMs, ...rest } = grant
  return {
    ...rest,
    state: stateOf(grant, nowMs),
    redeemedAtMs: redeemedAtMs ?? null,
    revokedAtMs: revokedAtMs ?? null,
  }
}

function stateOf({ revokedAtMs, expiresAtMs, redeemedAtMs }: OAuthGrant, nowMs: number) {
  if (revokedAtMs !== undefined) return 'revoked'
  if (expiresAtMs <= nowMs) return 'expired'
  return redeemedAtMs === undefined ? 'waiting' : 'active'
}
