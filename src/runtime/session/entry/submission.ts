import { defined } from '#contracts/defined.ts'
import { toInherited } from '../types/run-options.ts'
import { sessionProtocol, type Submission, type SubmitRequest } from '../types/submission.ts'
import type { Ask, AskedByCall, AskedFrom, Asker } from '../types/submit-as.ts'

/**
 * Builds a submission; no other place does. Its fields have a fixed order, since the hash behind an idempotency key
 * depends on it: the options that a call hands down, the principal, then the caller's fields in the caller's order.
 */
export function toSubmission(
  { id: principal, key: shown, grant, limits, agents, persona }: Asker,
  { session: _session, trace, traceLink, ...ask }: Ask & { readonly trace: string },
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
    protocol: sessionProtocol,
    trace,
    ...defined({ traceLink, idempotencyKey: key }),
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
