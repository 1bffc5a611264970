import type { Message } from '#contracts/message.ts'
import { type ObjectReply, noSuchSession, unwrap } from '#contracts/reply.ts'
import type { Principal } from '#contracts/operations.ts'
import type { SessionTask, AskedFrom, SessionEntry, Submitted } from '../types/session-entry.ts'
import type { RequestContext } from '#platform/routes/request.ts'
import { errorCode } from '#contracts/errors.ts'
import type { SessionApi, SessionGateway } from '../types/session-api.ts'
import { isRunId, isSessionId } from '#platform/routes/headers.ts'
import { seesEverybody } from '#platform/routes/queries.ts'

/** One message, since some models want the roles to alternate. A heading marks the context. */
export function toTaskMessage(request: {
  readonly task: string
  readonly context?: string | undefined
}): Message {
  return request.context === undefined
    ? { role: 'user', text: request.task, taint: ['user'] }
    : {
        role: 'user',
        text: `${request.task}\n\nContext:\n${request.context}`,
        taint: ['user', 'context'],
      }
}

/**
 * Notes for the request's error response that a run may have begun. A refusal takes the note back: nothing has begun.
 * A connection to the session that broke says neither; with an idempotency key the repeated request joins the run.
 */
export function notingBegun(context: RequestContext, work: Submitted): Submitted {
  const noting =
    <T>(submit: () => Promise<ObjectReply<T>>) =>
    async (): Promise<ObjectReply<T>> => {
      context.noteBegun(context.raw.headers.get('idempotency-key') === null)
      const reply = await submit()
      context.noteBegun(reply.ok)
      return reply
    }
  return {
    ...work,
    submit: noting(work.submit),
    run: noting(work.run),
    runStream: noting(work.runStream),
    compact: noting(work.compact),
  }
}

/** Error codes of a session that says nothing of the claim: it does not hold, or this session is older than claims. */
const unproven: readonly string[] = ['request_unauthenticated', 'request_conflict']

/**
 * Submits in the caller's name. A caller that came with a claim is looked up where the session refuses the claim, and
 * the submission is sent once more without one.
 */
export function submitAsCaller(
  { entry, asking }: { readonly entry: Pick<SessionEntry, 'submitAs'>; readonly asking: Principal },
  context: RequestContext,
  ...[ask, by]: [SessionTask, AskedFrom]
): Submitted {
  const first = notingBegun(context, entry.submitAs(asking, ask, by))
  if (asking.claim === undefined) return first
  const proving =
    <T>(submit: (work: Submitted) => Promise<ObjectReply<T>>) =>
    async (): Promise<ObjectReply<T>> => {
      const reply = await submit(first)
      if (!reply.ok && reply.error.code === 'request_unavailable') return reply
      if (!reply.ok && unproven.includes(reply.error.code)) {
        const now = await context.prove()
        return submit(notingBegun(context, entry.submitAs(now, ask, by)))
      }
      context.noteProven()
      return reply
    }
  return {
    ...first,
    submit: proving((work) => work.submit()),
    run: proving((work) => work.run()),
    runStream: proving((work) => work.runStream()),
    compact: proving((work) => work.compact()),
  }
}

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
 * Acts in a session of the caller's own or, for an operator or an auditor, in that of any principal: in the own name
 * first and, where no such session is, in its owner's. `act` is called twice at most and changes nothing where it
 * finds none.
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
