import type { SessionFields } from '#runtime/session/requests/session-requests.ts'
import type { Principal, SessionCursor, SessionIndex, SessionQuery } from '#contracts/operations.ts'
import { defaultListLimit, ofCallers } from '#platform/routes/queries.ts'

export interface SessionListDeps {
  readonly sessionIndex: Pick<SessionIndex, 'list'>
}

/**
 * The caller's own, newest made first. Operators and auditors may name another principal, or `*` for all; an auditor, who
 * has none, gets all if it names no principal. A session that a key may not see looks like one that is absent: for it
 * nothing but the caller's own is looked up.
 */
export async function listSessions(
  { sessionIndex }: SessionListDeps,
  caller: Principal,
  fields: SessionFields,
) {
  const page = await sessionIndex.list(toSessionQuery(fields, caller))
  return { sessions: page.sessions, ...pageOf(page) }
}

/** Where the next page begins, if there may be one. */
export const pageOf = ({ next }: { readonly next?: SessionCursor }): { readonly next?: string } =>
  next ? { next: `${next.sinceMs}-${next.id}` } : {}

/** The sessions that a caller may look up. Throws `request_forbidden` for those of others. */
export function toSessionQuery(
  { agent, state, stateless, limit, after, principal }: SessionFields,
  caller: Pick<Principal, 'id' | 'role'>,
): SessionQuery {
  return {
    ...ofCallers(caller, principal, 'sessions'),
    ...(agent !== undefined && { agent }),
    ...(state !== undefined && { state }),
    ...(stateless === 'true' && { withStateless: true }),
    limit: limit ?? defaultListLimit,
    ...(after && { after }),
  }
}
