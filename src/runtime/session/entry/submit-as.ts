import type { SessionGateway } from '../types/session-api.ts'
import type { Ids } from '#contracts/sources.ts'
import type { SubmitAs } from '../types/submit-as.ts'
import { toSubmission } from './submission.ts'

export interface SubmitParts {
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
