import { ruleIdOf, type ApprovalInbox } from '../types/approval.ts'
import type { Decider, Decision } from '#runtime/kernel/types/pause.ts'
import { asksForYes } from '#runtime/kernel/types/asks.ts'
import { IsolaError } from '#contracts/errors.ts'
import { deploymentEvent, type DeploymentEventData, type DeploymentLog } from '#contracts/event.ts'
import type { Limits } from '#contracts/lease.ts'
import type { Principal } from '#contracts/operations.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '../types/session-view.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { SessionEntry } from '../types/session-entry.ts'
import type { Sources } from '#contracts/sources.ts'
import type { OpenSession } from './open-session.ts'
import type { OnFault, RequestContext } from '#platform/routes/request.ts'

type Acts =
  | 'run_cancelled'
  | 'call_decided'
  | 'limits_changed'
  | 'floor_reclaimed'
  | 'session_compacted'
  | 'session_deleted'
type Act = {
  readonly [Type in Acts]: {
    readonly type: Type
    readonly about: Omit<DeploymentEventData<Type>, 'session' | 'owner' | 'request'>
  }
}[Acts]

/** The ports of requests in sessions, of the owner or of an operator. */
export interface ForOthersDeps {
  readonly sessions: SessionGateway
  readonly entry: Pick<SessionEntry, 'input'>
  readonly approvals: Pick<ApprovalInbox, 'mark'>
  readonly deploymentLog: DeploymentLog
  readonly sources: Sources
  /** Takes errors that a caller never sees. */
  readonly onFault?: OnFault
}

/**
 * Records what an operator does with the session of another principal. Requests of the session's owner are not recorded
 * here.
 */
export async function record(
  deps: Pick<ForOthersDeps, 'deploymentLog' | 'sources'>,
  context: RequestContext,
  act: Act & { readonly opened: OpenSession },
): Promise<void> {
  const { opened } = act
  if (opened.by === undefined) return
  const { principal, trace, requestId: request } = context.by()
  const place = { principal, trace, atMs: deps.sources.clock.nowMs() }
  const about = { session: opened.id, owner: opened.principal }
  await deps.deploymentLog.append(
    deploymentEvent(act.type, place, { ...about, ...act.about, request }),
  )
}

interface At {
  readonly opened: OpenSession
  readonly run: string
}

const placeOf = ({ opened, run }: At) => ({ session: opened.id, run })

/**
 * Cancels a run. The record comes after: a run that costs money is stopped also while the database is away, and its
 * own end says who stopped it.
 */
export async function cancelRun(
  deps: ForOthersDeps,
  context: RequestContext,
  request: At & { readonly reason?: string },
): Promise<RunView> {
  const { opened, run, reason } = request
  const { view, wasOver } = await deps.entry.input.cancel(opened, placeOf(request), reason)
  // A run that ended stays as it ended: nothing was done then.
  if (!wasOver) await record(deps, context, { type: 'run_cancelled', opened, about: { run } })
  return view
}

/**
 * Settles a waiting call. A refused decision is not recorded. An accepted decision is recorded with the hash of the
 * approved arguments, and the run's own `pause_answered` names the decider.
 */
export async function decideCall(
  deps: ForOthersDeps,
  context: RequestContext,
  request: At & {
    readonly call: string
    readonly decision: Decision
    readonly via?: Decider['via']
  },
): Promise<RunView> {
  const { opened, run, call, decision } = request
  requireApprove(context, { decision: await asYes(context, request) })
  const { id: principal, role } = context.caller
  const { via = 'session' } = request
  const speaker = { ...opened, decider: { principal, role, via } }
  const { view, settled } = await deps.entry.input.decide(speaker, placeOf(request), request)
  const states = {
    approve: 'approved',
    deny: 'denied',
    result: undefined,
    error: undefined,
  } as const
  const state = states[decision.decision]
  if (state)
    await deps.approvals.mark({ ...placeOf(request), call, state, decidedBy: speaker.decider })
  // A call that no longer waits was decided before: the same decision again changes nothing.
  if (!settled) return view
  const { tool, kind, argsHash } = settled
  const of = { session: opened.id, run, call, argsHash }
  const reach = kind === 'approval' && reachOf(decision, () => ruleIdOf(of, deps.sources.sha256))
  const about = { run, call, tool, kind, argsHash, decision: decision.decision, ...reach }
  await record(deps, context, { type: 'call_decided', opened, about })
  return view
}

/** The scope of an approval, and the rule that it makes; undefined for any other decision. */
function reachOf(
  decision: Decision,
  rule: () => string,
): Pick<DeploymentEventData<'call_decided'>, 'scope' | 'rule'> | undefined {
  if (decision.decision !== 'approve') return undefined
  if (decision.also === undefined) return { scope: 'once' }
  return { scope: decision.also === 'session' ? 'session' : 'rule', rule: rule() }
}

/** A key approves whatever its principal may; a token needs the scope `approve`. */
export const hasApprove = ({ token }: Pick<Principal, 'token'>): boolean =>
  !token || token.scopes.includes('approve')

/**
 * The kind of a decision: to accept the form of a call that changes something is an approval. A question that the call
 * has asked since has another `asksHash`, so this decision does not answer it.
 */
async function asYes(
  context: RequestContext,
  { opened, run, call, decision }: At & { readonly call: string; readonly decision: Decision },
): Promise<Decision['decision']> {
  if (decision.decision !== 'result' || hasApprove(context.caller)) return decision.decision
  const answers = Object.values(Object(decision.output))
  if (!answers.some((answer) => Object(answer).action === 'accept')) return 'result'
  const { pauses = [] } = unwrap(await opened.session.result(opened.principal, run))
  return pauses.some((one) => one.call === call && asksForYes(one)) ? 'approve' : 'result'
}

/**
 * A token without the scope `approve` cannot approve, whatever its principal may. Changing limits counts as an
 * approval.
 */
export function requireApprove(
  context: RequestContext,
  { decision }: { readonly decision: Decision['decision'] | 'limits' },
): void {
  const { token } = context.caller
  const isYes = decision === 'approve' || decision === 'limits'
  if (!isYes || !token || hasApprove({ token })) return
  if (token.couldHave.includes('approve')) context.needScopes(['approve', ...token.scopes])
  const message = 'This needs a token with the scope approve.'
  throw new IsolaError('request_insufficient_scope', message)
}

/** Raises or lowers the limits of a run. Without the scope `approve` a token can only cancel the run. */
export async function changeRunLimits(
  deps: ForOthersDeps,
  context: RequestContext,
  request: At & { readonly limits: Partial<Limits> },
): Promise<RunView> {
  requireApprove(context, { decision: 'limits' })
  const { opened, run, limits } = request
  const isOperator = context.caller.role === 'operator'
  const change = { limits, isOperator }
  const view = await deps.entry.input.changeLimits(opened, placeOf(request), change)
  const about = { run, limits: JSON.stringify(limits) }
  await record(deps, context, { type: 'limits_changed', opened, about })
  return view
}

/**
 * Deletes a session. The request is recorded first: afterwards no row names its owner. If the session has to stay for
 * now, the client asks again; `done` is recorded once.
 */
export async function deleteSession(
  deps: ForOthersDeps,
  context: RequestContext,
  opened: OpenSession,
): Promise<{ readonly deleted: true }> {
  const note = (step: 'asked' | 'done') =>
    record(deps, context, { type: 'session_deleted', opened, about: { step } })
  await note('asked')
  const gone = unwrap(await opened.session.delete(opened.principal))
  // A failure to record `done` does not undo the deletion: the record already has who asked for it.
  await note('done').catch((error: unknown) => deps.onFault?.(error, context.requestId))
  return gone
}
