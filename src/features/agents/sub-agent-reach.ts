// The connection between a run and the session of an agent that it called.
import { headOf } from '#contracts/cut.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Reply } from '#contracts/reply.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext } from '#contracts/tool.ts'

/** A broken connection to the child is opened again at most so often. */
const maxReattaches = 3
const reattachDelayMs = 200
/** The reason in an event has at most so many characters. */
export const maxReasonChars = 200

/**
 * Cancels the child's call when the caller's signal aborts: an `AbortSignal` does not cross Durable Object RPC.
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
  if (context.signal.aborted) cancel() // a listener on an aborted signal is never called
  else context.signal.addEventListener('abort', cancel, { once: true })
  return () => context.signal.removeEventListener('abort', cancel)
}

/** Repeats the request up to three times after a broken connection: the same key joins the existing run. */
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

/**
 * A child that answers `request_unavailable` may work all the same: it is asked again, as after a broken connection.
 */
export function available<T>(reply: Reply<T>): Reply<T> {
  if (reply.ok || reply.error.code !== 'request_unavailable') return reply
  throw new IsolaError('request_unavailable', reply.error.message, { transient: true })
}

/** Only a broken connection is transient. An overloaded child is left alone, and a bug stays a bug. */
const mayReattach = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'transient' in error && error.transient === true
