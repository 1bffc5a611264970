import { errorCode } from '#contracts/errors.ts'
import type { Role } from '#contracts/keys.ts'
import { noSuchSession, unwrap } from '#contracts/reply.ts'
import type { SessionApi } from '../types/session-api.ts'
import type { HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { isRunId, isSessionId } from '#platform/routes/headers.ts'

/** A session that the caller may look at. */
export interface OpenSession {
  readonly id: string
  readonly session: SessionApi
  /** Whose session it is, as far as the caller may know: its own name, unless it sees everybody's. */
  readonly principal: string
  /** The operator or auditor who asks about somebody else's session. */
  readonly by?: string
}

/** Who sees every session. What else they may do there is in the table of routes. */
export const seesEverybody = (role: Role): boolean => role === 'operator' || role === 'auditor'

/** A session of the caller's own. A malformed id looks like one that is absent, and reaches no object. */
export function openOwn(deps: HttpDeps, context: HttpContext): OpenSession {
  const id = context.req.param('id') ?? ''
  if (!isSessionId(id)) throw noSuchSession()
  return { id, session: deps.sessions.at(id), principal: context.get('principal').id }
}

/**
 * Acts in a session of the caller's own or, for an operator or an auditor, in anybody's: in the own name first and,
 * where no such session is, in that of whose it is. `act` is asked twice at most and does nothing where it finds none.
 */
export async function inSession<T>(
  deps: HttpDeps,
  context: HttpContext,
  act: (opened: OpenSession) => Promise<T>,
): Promise<T> {
  const own = openOwn(deps, context)
  if (!seesEverybody(context.get('principal').role)) return act(own)
  try {
    return await act(own)
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    const principal = unwrap(await own.session.owner())
    if (principal === own.principal) throw error
    return act({ ...own, principal, by: own.principal })
  }
}

/** A run as the path names it, in a session that may be one: before a body is looked at. */
export function runOf(context: HttpContext): string {
  const { id = '', run = '' } = context.req.param()
  if (!isSessionId(id) || !isRunId(run)) throw noSuchSession()
  return run
}
