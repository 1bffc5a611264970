import { sessionsQuery, type SessionFields } from '#runtime/session/types/sessions-requests.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Principal, SessionCursor, SessionQuery } from '#contracts/operations.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { defaultListLimit } from '#platform/routes/list-queries.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { parseFields } from '#platform/routes/validate.ts'
import { seesEverybody } from '#runtime/session/requests/open-session.ts'

const everybody = '*'

/**
 * `GET /api/sessions`: the caller's own, newest made first. Operators and auditors may name another principal, or `*` for
 * all; an auditor, who has none, gets all if it names nobody. What a key may not see is not told apart from what is not
 * there: nothing but the caller's own is looked up for it.
 */
export async function listSessions(deps: HttpDeps, context: HttpContext): Promise<Response> {
  const fields = parseFields(sessionsQuery, context.req.query())
  const page = await deps.sessionIndex.list(toSessionQuery(fields, context.get('principal')))
  return jsonResponse({ sessions: page.sessions, ...pageOf(page) })
}

/** Where the next page begins, if there may be one. */
export const pageOf = ({ next }: { readonly next?: SessionCursor }): { readonly next?: string } =>
  next ? { next: `${next.sinceMs}-${next.id}` } : {}

/** What may be looked up for somebody. Throws `request_forbidden` for what only others may see. */
export function toSessionQuery(
  { agent, state, stateless, limit, after, ...asked }: SessionFields,
  { id, role }: Pick<Principal, 'id' | 'role'>,
): SessionQuery {
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
