import { defined } from '#contracts/defined.ts'
import type { SessionFields } from '#runtime/session/requests/session-requests.ts'
import type { Principal, SessionCursor, SessionIndex, SessionQuery } from '#contracts/operations.ts'
import { defaultListLimit, ofCallers } from '#platform/routes/queries.ts'

export interface SessionListDeps {
  readonly sessionIndex: Pick<SessionIndex, 'list'>
}

/**
 * The caller's own sessions, newest first. Operators and auditors may name another principal, or `*` for all; an
 * auditor has no sessions, so it gets all if it names no principal. A session that a key may not see looks like a
 * missing one: such a key's query covers the caller's own sessions alone.
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
    ...defined({ after }),
  }
}
