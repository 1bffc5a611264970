import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { onDemandId } from '../types/agent-schedules.ts'
import type { SessionStore } from './store.ts'

/** Whether SQLite could not read or write: it is full, locked, or the disk fails. The platform has no code for that. */
export const isStorageFault = (error: unknown): boolean =>
  errorCode(error) === undefined && /\bSQLITE_[A-Z]+/.test(errorMessage(error))

export const noSuchRun = () =>
  new IsolaError('request_not_found', 'There is no such run in this session.')

/** A cursor names a run that this session does not have. */
export const noSuchPlace = (param: string) =>
  new IsolaError('request_not_found', `${param}: there is no such run in this session.`, { param })

export const noSuchChild = () =>
  new IsolaError('request_not_found', 'fromChild: there is no such child on this page of runs.', {
    param: 'fromChild',
  })

export const noSuchSession = () => new IsolaError('request_not_found', 'There is no such session.')

export const unknownAgent = (agent: string) =>
  agent === onDemandId
    ? new IsolaError('request_conflict', onceOnly, { param: 'agent' })
    : new IsolaError('request_model_not_found', `There is no agent "${agent}".`, { param: 'agent' })

/** The text of an agent on demand is deleted with its one task. */
const onceOnly =
  'An agent on demand does one task. POST /api/agents/on-demand makes another; POST /api/agents/promote has it kept.'

export function otherBody(): IsolaError {
  const message = 'This Idempotency-Key was used with another body: send that one, or another key.'
  return new IsolaError('request_idempotency_mismatch', message, { param: 'Idempotency-Key' })
}

/** The principal's day has nothing left for a run that has not begun. @param refusal The error of the day's ledger. */
export function usedUp(refusal: unknown): IsolaError {
  const { retryAfterMs } = refusal as { readonly retryAfterMs?: unknown }
  return new IsolaError('request_insufficient_quota', errorMessage(refusal), {
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    cause: refusal,
  })
}

/** A context is compacted at rest only: throws `request_conflict` while a run works, is queued or is parked. */
export function refuseAtWork(parts: {
  readonly store: Pick<SessionStore, 'unfinishedRuns'>
  readonly runs: { readonly isIdle: () => boolean }
}): void {
  const [open] = parts.store.unfinishedRuns()
  if (!open && parts.runs.isIdle()) return
  const which = open ? `The run ${open.id}` : 'A run'
  const message = `${which} is not over: wait for its end, or cancel it, and ask again then.`
  throw new IsolaError('request_conflict', message)
}
