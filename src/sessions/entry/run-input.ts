import { IsolaError } from '#contracts/errors.ts'
import type { LimitReached, Limits } from '#contracts/lease.ts'
import { unlimited } from '#contracts/lease.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunView } from '#contracts/run-view.ts'
import type { HttpContext, HttpDeps } from '../deps.ts'
import { record } from './for-others.ts'
import type { OpenSession } from './open-session.ts'

/**
 * Raises or lowers the limits of a run: its owner as far as the day of its principal goes, an operator beyond that.
 * Throws `request_forbidden` with how far that is. What an operator does in somebody else's session is on the record.
 */
export async function changeRunLimits(
  deps: HttpDeps,
  context: HttpContext,
  request: {
    readonly opened: OpenSession
    readonly run: string
    readonly limits: Partial<Limits>
  },
): Promise<RunView> {
  const { opened, run, limits } = request
  const { session, principal, by } = opened
  const isOperator = context.get('principal').role === 'operator'
  const before = unwrap(await session.result(principal, run))
  if (!isOperator) await refuseBeyondDay(deps, before, { principal, limits })
  const view = unwrap(await session.changeLimits(principal, run, { limits, isOperator }))
  const about = { run, limits: JSON.stringify(limits) }
  if (by !== undefined) await record(deps, context, { type: 'limits_changed', opened, about })
  return view
}

const ofDay = [
  ['maxTokens', 'tokens'],
  ['maxCostNanoUsd', 'costNanoUsd'],
] as const

/** What the day does not have would not be given when the run goes on: whoever asks is told at once. */
async function refuseBeyondDay(
  deps: HttpDeps,
  { pauses = [] }: RunView,
  { principal, limits }: { readonly principal: string; readonly limits: Partial<Limits> },
): Promise<void> {
  const reached = pauses.find((pause) => pause.reached?.limit !== undefined)?.reached
  const meant = ofDay.find(([limit]) => limit === reached?.limit)
  if (!reached || !meant || !isRaise(reached, limits)) return
  const [limit, key] = meant
  const day = await deps.principals.usage(principal)
  if (day.limits[key] >= unlimited) return
  const left = Math.max(0, day.limits[key] - day.settled[key] - day.reserved[key])
  const most = (reached.spent ?? 0) + left
  if ((limits[limit] ?? 0) <= most) return
  const [has, may] = key === 'tokens' ? [left, most] : [left / 1e9, most / 1e9]
  const message = `The day of this principal has ${has} left: this run may have a limit of ${may}. An operator may raise it further.`
  throw new IsolaError('request_forbidden', message, { param: limit })
}

const isRaise = ({ limit, allowed = 0 }: LimitReached, limits: Partial<Limits>): boolean =>
  limit !== undefined && (limits[limit] ?? 0) > allowed
