import { deploymentEvent, type DeploymentEventData } from '#contracts/event.ts'
import type { Decision } from '#contracts/pause.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '#contracts/run-view.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { administrator } from '../operator/administrator.ts'
import type { OpenSession } from './open-session.ts'

type Acts =
  | 'run_cancelled'
  | 'call_decided'
  | 'limits_changed'
  | 'session_compacted'
  | 'session_deleted'
type Act = {
  readonly [Type in Acts]: {
    readonly type: Type
    readonly about: Omit<DeploymentEventData<Type>, 'session' | 'owner' | 'request'>
  }
}[Acts]

/** Puts on the record what an operator does with somebody else's session; what anybody does with an own one is not. */
export async function record(
  deps: HttpDeps,
  context: HttpContext,
  act: Act & { readonly opened: OpenSession },
): Promise<void> {
  const { opened } = act
  if (opened.by === undefined) return
  const { principal, trace, requestId: request } = administrator(deps, context)
  const place = { principal, trace, atMs: deps.sources.clock.nowMs() }
  const about = { session: opened.id, owner: opened.principal }
  await deps.deploymentLog.append(
    deploymentEvent(act.type, place, { ...about, ...act.about, request }),
  )
}

/**
 * Cancels a run. The record comes after: a run that costs money is stopped also while the database is away, and its
 * own end says who stopped it.
 */
export async function cancelRun(
  deps: HttpDeps,
  context: HttpContext,
  request: { readonly opened: OpenSession; readonly run: string; readonly reason?: string },
): Promise<RunView> {
  const { opened, run, reason } = request
  const { session, principal, by } = opened
  if (by === undefined) {
    return unwrap(await session.cancel(principal, run, reason ?? 'Cancelled by the caller.'))
  }
  const before = unwrap(await session.result(principal, run))
  const said = `Cancelled by the operator ${by}${reason === undefined ? '.' : `: ${reason}`}`
  const view = unwrap(await session.cancel(principal, run, said))
  // A run that ended stays as it ended: nothing was done then.
  if (!before.result) await record(deps, context, { type: 'run_cancelled', opened, about: { run } })
  return view
}

/**
 * Settles a waiting call. What is refused is not on the record; what is taken is there with exactly what was approved,
 * and the run's own `pause_answered` says by whom.
 */
export async function decideCall(
  deps: HttpDeps,
  context: HttpContext,
  request: {
    readonly opened: OpenSession
    readonly run: string
    readonly call: string
    readonly decision: Decision
  },
): Promise<RunView> {
  const { opened, run, call, decision } = request
  const { session, principal, by } = opened
  if (by === undefined) return unwrap(await session.decide(principal, run, call, decision))
  const { pauses = [] } = unwrap(await session.result(principal, run))
  const pause = pauses.find((one) => one.call === call)
  const isLeave = pause && decision.decision === 'approve'
  const shown = isLeave ? { argsHash: pause.argsHash, ...decision } : decision
  const view = unwrap(await session.decide(principal, run, call, shown, by))
  // One that waits no more was decided before: the same again changes nothing.
  if (!pause) return view
  const { tool, kind, argsHash } = pause
  const about = { run, call, tool, kind, argsHash, decision: decision.decision }
  await record(deps, context, { type: 'call_decided', opened, about })
  return view
}

/**
 * Deletes a session. That it is asked is on the record first: afterwards nothing is left that could be asked whose it
 * was. One that has to be kept for now is asked again, and done once.
 */
export async function deleteSession(
  deps: HttpDeps,
  context: HttpContext,
  opened: OpenSession,
): Promise<{ readonly deleted: true }> {
  const note = (step: 'asked' | 'done') =>
    record(deps, context, { type: 'session_deleted', opened, about: { step } })
  await note('asked')
  const gone = unwrap(await opened.session.delete(opened.principal))
  // It is done, whatever becomes of this: who asked for it is on the record.
  await note('done').catch((error: unknown) => deps.onFault?.(error, context.get('requestId')))
  return gone
}
