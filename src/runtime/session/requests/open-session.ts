import { errorCode } from '#contracts/errors.ts'
import { noSuchSession, unwrap } from '#contracts/reply.ts'
import type { SessionApi, SessionGateway } from '../types/session-api.ts'
import { isRunId, isSessionId } from '#platform/routes/headers.ts'
import { seesEverybody } from '#platform/routes/queries.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** A session that the caller may look at. */
export interface OpenSession {
  readonly id: string
  readonly session: SessionApi
  /** The owner of the session. A caller that may not read all sessions gets its own name. */
  readonly principal: string
  /** The operator or auditor, if the session belongs to another principal. */
  readonly by?: string
}

/** The parameters of a session's route. */
type Request = Pick<RequestContext, 'params' | 'caller'>
interface OpenDeps {
  readonly sessions: SessionGateway
}

/** Refuses a malformed session id before the body is read: the session looks absent, and no object is called. */
export function checkSessionId({ params }: Pick<RequestContext, 'params'>): void {
  if (!isSessionId(params['id'] ?? '')) throw noSuchSession()
}

/** The same for the id of a session and of a run in it. */
export function checkRunId(request: Pick<RequestContext, 'params'>): void {
  checkSessionId(request)
  if (!isRunId(request.params['run'] ?? '')) throw noSuchSession()
}

/** A session of the caller's own. */
export function openOwn({ sessions }: OpenDeps, { params, caller }: Request): OpenSession {
  checkSessionId({ params })
  const { id = '' } = params
  return { id, session: sessions.at(id), principal: caller.id }
}

/**
 * Acts in a session of the caller's own or, for an operator or an auditor, in that of any principal: in the own name first
 * and, where no such session is, in its owner's. `act` is called twice at most and changes nothing where it finds none.
 */
export async function inSession<T>(
  deps: OpenDeps,
  request: Request,
  act: (opened: OpenSession) => Promise<T>,
): Promise<T> {
  const own = openOwn(deps, request)
  if (!seesEverybody(request.caller.role)) return act(own)
  try {
    return await act(own)
  } catch (error) {
    if (errorCode(error) !== 'request_not_found') throw error
    const principal = unwrap(await own.session.owner())
    if (principal === own.principal) throw error
    return act({ ...own, principal, by: own.principal })
  }
}
