import { sessionsQuery } from '#contracts/api/requests/sessions.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Principal, SessionQuery } from '#contracts/operations.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { defaultListLimit } from '../list-queries.ts'
import { jsonResponse } from '../responses.ts'
import { parseFields } from '../validate.ts'
import { seesEverybody } from './open-session.ts'

const everybody = '*'

/**
 * `GET /api/sessions`: the caller's own, newest made first. Operators and auditors may name another principal, or `*` for
 * all; an auditor, who has none, gets all if it names nobody. What a key may not see is not told apart from what is not
 * there: nothing but the caller's own is looked up for it.
 */
export async function listSessions(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const query = toQuery(context.req.query(), context.get('principal'))
  const { sessions, next } = await deps.sessionIndex.list(query)
  return jsonResponse({ sessions, ...(next && { next: `${next.sinceMs}-${next.id}` }) })
}

function toQuery(
  given: Readonly<Record<string, string>>,
  { id, role }: Pick<Principal, 'id' | 'role'>,
): SessionQuery {
  const { agent, state, stateless, limit, after, ...asked } = parseFields(sessionsQuery, given)
  const { principal = role === 'auditor' ? everybody : id } = asked
  if (principal !== id && !seesEverybody(role)) {
    const message =
      'principal: only operators and auditors see the sessions of others; leave it out.'
    throw new IsolaError('request_forbidden', message, { param: 'principal' })
  }
  return {
    ...(principal !== everybody && { principal }),
    ...(agent !== undefined && { agent }),
    ...(state !== undefined && { state }),
    ...(stateless === 'true' && { withStateless: true }),
    limit: limit ?? defaultListLimit,
    ...(after && { after }),
  }
}
