import { headOf } from '#contracts/cut.ts'
// How a parent stays in touch with the session of an agent that it called.
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Reply } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'

/** How many times a broken connection to the child is taken up again. */
const maxReattaches = 3
const reattachDelayMs = 200
/** So much is said of why: more does not go into an event. */
export const maxReasonChars = 200

/**
 * An `AbortSignal` does not cross Durable Object RPC: its place is taken by one explicit call.
 * @returns Stops listening.
 */
export function cancelOnAbort(
  sessions: SessionGateway,
  { session, context }: { readonly session: string; readonly context: ToolContext },
  onFailed: (message: string) => void,
): () => void {
  const cancel = () => {
    const reason = headOf(errorMessage(context.signal.reason ?? 'cancelled'), maxReasonChars)
    sessions
      .at(session)
      .cancelCall(context.run, context.call, reason)
      .catch((error: unknown) => {
        onFailed(headOf(errorMessage(error), maxReasonChars))
      })
  }
  if (context.signal.aborted) cancel() // a listener on an aborted signal never hears of it
  else context.signal.addEventListener('abort', cancel, { once: true })
  return () => context.signal.removeEventListener('abort', cancel)
}

/** Asks up to three times again after a broken connection: the same key joins the run that is there. */
export async function reattaching<T>(
  attempt: () => Promise<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (tries >= maxReattaches || signal.aborted || !mayReattach(error)) throw error
      await clock.sleep(reattachDelayMs * 2 ** tries, signal)
    }
  }
}

/** A child that cannot answer just now may be at work all the same: it is asked again, like one that cannot be reached. */
export function available<T>(reply: Reply<T>): Reply<T> {
  if (reply.ok || reply.error.code !== 'request_unavailable') return reply
  throw new IsolaError('request_unavailable', reply.error.message, { transient: true })
}

/** A broken connection says so. One that has too much to do is left alone, and a bug stays one. */
const mayReattach = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'transient' in error && error.transient === true
