import { IsolaError } from '#contracts/errors.ts'
import { type LimitReached, type Limits, unlimited } from '#contracts/lease.ts'
import type { PrincipalReader } from '../types/principal.ts'
import { unwrap } from '#contracts/reply.ts'
import type { RunInputs, SessionEntry } from '../types/session-entry.ts'
import type { RunView } from '../types/session-view.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { Sources } from '#contracts/sources.ts'
import { createConverse, createReadLog } from './converse.ts'
import { createSubmitAs } from './submit-as.ts'

export interface RunInputParts {
  readonly sessions: SessionGateway
  /** A principal's day as it stands. */
  readonly usage: PrincipalReader['usage']
}

/** Sends input to runs: steering, decisions, limits and cancels. */
export const createRunInput = ({ sessions, usage }: RunInputParts): RunInputs => ({
  async steer({ principal }, { session, run }, { text, key }) {
    const message = { role: 'user', text, taint: ['user'] } as const
    return unwrap(await sessions.at(session).steer(principal, run, message, key))
  },
  async decide({ principal, by, decider }, { session, run }, { call, decision }) {
    const api = sessions.at(session)
    if (by === undefined)
      return { view: unwrap(await api.decide(principal, run, call, decision, decider)) }
    const { pauses = [] } = unwrap(await api.result(principal, run))
    const settled = pauses.find((one) => one.call === call)
    const isLeave = settled && decision.decision === 'approve'
    const shown = isLeave ? { argsHash: settled.argsHash, ...decision } : decision
    return { view: unwrap(await api.decide(principal, run, call, shown, decider)), settled }
  },
  async changeLimits({ principal }, { session, run }, change) {
    const api = sessions.at(session)
    const before = unwrap(await api.result(principal, run))
    const { limits, isOperator } = change
    if (!isOperator) await refuseBeyondDay(usage, before, { principal, limits })
    return unwrap(await api.changeLimits(principal, run, change))
  },
  async cancel({ principal, by }, { session, run }, reason) {
    const api = sessions.at(session)
    const cancel = async (said: string) => unwrap(await api.cancel(principal, run, said))
    if (by === undefined)
      return { view: await cancel(reason ?? 'Cancelled by the caller.'), wasOver: false }
    const before = unwrap(await api.result(principal, run))
    const said = `Cancelled by the operator ${by}${reason === undefined ? '.' : `: ${reason}`}`
    return { view: await cancel(said), wasOver: before.result !== undefined }
  },
})

const ofDay = [
  ['maxTokens', 'tokens'],
  ['maxCostNanoUsd', 'costNanoUsd'],
] as const

/** Refuses a raise beyond the day at once: the run would not get it when it goes on. */
async function refuseBeyondDay(
  usage: RunInputParts['usage'],
  { id, pauses = [] }: RunView,
  { principal, limits }: { readonly principal: string; readonly limits: Partial<Limits> },
): Promise<void> {
  const reached = pauses.find((pause) => pause.reached?.limit !== undefined)?.reached
  const meant = ofDay.find(([limit]) => limit === reached?.limit)
  if (!reached || !meant || !isRaise(reached, limits)) return
  const [limit, key] = meant
  const day = await usage(principal, id)
  if (day.limits[key] >= unlimited) return
  const { spent = 0 } = reached
  // The open reservations may be the run's own: it waits for a child, or has not given them back yet.
  const free = spent + Math.max(0, day.limits[key] - day.settled[key] - day.reserved[key])
  const most = Math.max(free, day.most?.[key] ?? 0)
  const left = most - spent
  if ((limits[limit] ?? 0) <= most) return
  const param = key === 'tokens' ? limit : 'maxCostUsd'
  const [has, may] = [left, most].map((amount) =>
    key === 'tokens' ? `${amount} tokens` : `$${amount / 1e9}`,
  )
  const message =
    `${param}: the day of this principal has ${has} left, so this ` +
    `run may have a limit of ${may}. An operator may raise it further.`
  throw new IsolaError('request_forbidden', message, { param })
}

const isRaise = ({ limit, allowed = 0 }: LimitReached, limits: Partial<Limits>): boolean =>
  limit !== undefined && (limits[limit] ?? 0) > allowed

/** Composes the entry to sessions that every surface uses. */
export const composeEntry = (
  parts: Pick<Sources, 'clock' | 'ids'> & RunInputParts,
): SessionEntry => ({
  submitAs: createSubmitAs(parts),
  converse: createConverse(parts),
  readLog: createReadLog(parts),
  input: createRunInput(parts),
})
