import { defined } from './defined.ts'
import type { Billed } from './platform.ts'
import { errorCode, errorMessage, IsolaError, type ErrorCall } from './errors.ts'

/** The answer of a Durable Object: expected faults are values, since classes do not survive RPC. */
export type ObjectReply<T> = {
  /** Set by objects that do not book amounts themselves: the caller books them. */
  readonly billed?: Billed
} & (
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false
      readonly error: {
        readonly code: string
        readonly message: string
        readonly param?: string
        readonly call?: ErrorCall
        readonly retryAfterMs?: number
      }
    }
)

/** An expected failure as a value; a bug is thrown. */
export async function toReply<T>(work: () => Promise<T>): Promise<ObjectReply<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    return toFailureReply(error)
  }
}

/** Throws what has no code of ours. */
export function toFailureReply(
  error: unknown,
): Extract<ObjectReply<never>, { readonly ok: false }> {
  const code = errorCode(error)
  if (code === undefined) throw error
  const { param, call, retryAfterMs }: Partial<IsolaError> =
    error instanceof IsolaError ? error : {}
  const more = defined({ param, call, retryAfterMs })
  return { ok: false, error: { code, message: errorMessage(error), ...more } }
}

/** The same for a session or run that does not exist and for another principal's (docs/security.md T2). */
export const noSuchSession = (): IsolaError =>
  new IsolaError('request_not_found', 'There is no such session or run.')

/** The value of a session's reply, or its error. Whatever is absent or not yours looks alike. */
export function unwrap<T>(reply: ObjectReply<T>): T {
  // With a field it is about something inside a run that is the caller's own.
  if (!reply.ok && reply.error.code === 'request_not_found' && reply.error.param === undefined)
    throw noSuchSession()
  return fromReply(reply)
}

/** The value of a reply; throws its failure. */
export function fromReply<T>(reply: ObjectReply<T>): T {
  if (reply.ok) return reply.value
  const { message, ...about } = reply.error
  throw new IsolaError(errorCode(reply.error) ?? 'request_unavailable', message, about)
}
