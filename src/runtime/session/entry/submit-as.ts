import { defined } from '#contracts/defined.ts'
import {
  toInherited,
  claimProtocol,
  sessionProtocol,
  type Submission,
  type SubmitRequest,
} from '../types/submission.ts'
import type {
  SessionTask,
  AskedByCall,
  AskedFrom,
  Asker,
  SubmitAs,
} from '../types/session-entry.ts'
import type { SessionGateway } from '../types/session-api.ts'
import type { Ids } from '#contracts/sources.ts'

/**
 * Builds a submission; no other place does. Its fields have a fixed order, since the hash behind an idempotency key
 * depends on it: the options that a call hands down, the principal, then the caller's fields in the caller's order.
 */
export function toSubmission(
  { id: principal, key: shown, grant, limits, agents, persona, claim }: Asker,
  { session: _session, trace, traceLink, ...ask }: SessionTask & { readonly trace: string },
  by: AskedFrom | AskedByCall,
): SubmitRequest {
  const { key, above, ...from } = { above: undefined, ...by }
  return {
    ...(above && toInherited(above.options)),
    principal,
    // A key's own limits and agents hold in the session only if they are here.
    ...defined({
      key: shown,
      grant,
      dayLimits: limits,
      keyPersona: persona,
      allowedAgents: agents,
    }),
    ...ask,
    protocol: claim === undefined ? sessionProtocol : claimProtocol,
    trace,
    ...defined({ traceLink, idempotencyKey: key, claim }),
    ...(above && { lineage: above.lineage }),
    ...from,
  }
}

/** The submission of an existing run for a new run, under an idempotency key of its own. */
export const toRepeated = (
  submission: Omit<Submission, 'messages'>,
  {
    under,
    ...changes
  }: Partial<SubmitRequest> & Pick<Submission, 'messages'> & { readonly under: string },
): SubmitRequest => ({ ...submission, ...changes, idempotencyKey: under })

interface SubmitParts {
  readonly sessions: SessionGateway
  readonly ids: Ids
}

/** Sends a submission to its session's object, for every surface. */
export const createSubmitAs =
  ({ sessions, ids }: SubmitParts): SubmitAs =>
  (principal, ask, by) => {
    const { session, trace = ids.traceId() } = ask
    const submission = toSubmission(principal, { ...ask, trace }, by)
    const api = sessions.at(session)
    return {
      session,
      trace,
      submit: () => api.submit(session, submission),
      run: () => api.run(session, submission),
      runStream: () => api.runStream(session, submission),
      compact: () => api.compact(session, submission),
    }
  }
