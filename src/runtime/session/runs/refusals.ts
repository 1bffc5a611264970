import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { onDemandId } from '#contracts/stored-agent.ts'
import type { SessionStore } from '../storage/store.ts'

export const unknownAgent = (agent: string) =>
  agent === onDemandId
    ? new IsolaError('request_conflict', onceOnly, { param: 'agent' })
    : new IsolaError('request_model_not_found', `There is no agent "${agent}".`, { param: 'agent' })

/** Its text came with its one task, and went with that. */
const onceOnly =
  'An agent on demand does one task. POST /api/agents/on-demand makes another; POST /api/agents/promote has it kept.'

export function otherBody(): IsolaError {
  const message = 'This Idempotency-Key was used with another body: send that one, or another key.'
  return new IsolaError('request_idempotency_mismatch', message, { param: 'Idempotency-Key' })
}

/** The principal's day has nothing left for a run that has not begun. @param refusal What the day's ledger said. */
export function usedUp(refusal: unknown): IsolaError {
  const { retryAfterMs } = refusal as { readonly retryAfterMs?: unknown }
  return new IsolaError('request_insufficient_quota', errorMessage(refusal), {
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    cause: refusal,
  })
}

/** A context is compacted at rest: throws `request_conflict` while a run works, waits for its turn, or is parked. */
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
