import type { Role } from '#contracts/keys.ts'
import type { SessionApi } from '#contracts/session.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { isRunId, isSessionId } from '../headers.ts'
import { noSuchSession, unwrap } from '../responses.ts'

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

/** The same, or anybody's for an operator or an auditor: it is asked whose it is, and then asked in that one's name. */
export async function openSession(deps: HttpDeps, context: HttpContext): Promise<OpenSession> {
  const own = openOwn(deps, context)
  if (!seesEverybody(context.get('principal').role)) return own
  const principal = unwrap(await own.session.owner())
  return principal === own.principal ? own : { ...own, principal, by: own.principal }
}

/** A run as the path names it. */
export function runOf(context: HttpContext): string {
  const run = context.req.param('run') ?? ''
  if (!isRunId(run)) throw noSuchSession()
  return run
}
