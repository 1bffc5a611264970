import type { Reply } from '#contracts/reply.ts'
import type { Submitted } from '../types/submit-as.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/**
 * Notes for the request's error response that a run may have begun. A refusal takes the note back: nothing has begun.
 * A connection to the session that broke says neither; with an idempotency key the repeated request joins the run.
 */
export function notingBegun(
  context: Pick<RequestContext, 'raw' | 'noteBegun'>,
  work: Submitted,
): Submitted {
  const noting =
    <T>(submit: () => Promise<Reply<T>>) =>
    async (): Promise<Reply<T>> => {
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
