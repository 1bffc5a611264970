import { errorMessage, IsolaError } from '#contracts/errors.ts'

/** What went wrong between a caller and an object, as far as the platform tells. */
export interface PlatformFault {
  /** `broken`: the object or the way to it was lost. `overloaded`: it has too much to do. `outdated`: it runs older code. */
  readonly kind: 'broken' | 'overloaded' | 'outdated'
  readonly cause: unknown
}

/** What workerd says where it sets no flag. */
const brokenTexts =
  /^(Network connection lost|internal error\b|The connection was lost|Cannot resolve Durable Object|(The )?Durable Object\b.*\b(reset|aborted|restarted|evicted|updated)\b|.*\bdisconnected prematurely)/i
const overloadedTexts = /^(Durable Object is overloaded|.*\btoo much load on Durable Objects)/i
const missingMethod = /^The RPC receiver does not implement the method /

/**
 * Tells the platform's errors from ours; `undefined` for ours, which must stay visible as a bug.
 *
 * An error that code in the object threw arrives with `remote`, one that only the platform knows of without: so
 * flags that somebody forged on an error of theirs count for nothing (SECURITY.md F30).
 */
export function faultOf(cause: unknown): PlatformFault | undefined {
  if (!(cause instanceof Error)) return undefined
  const text = errorMessage(cause)
  if (has(cause, 'remote')) {
    // Between two versions of the Worker: the object will be restarted with the newer code (SECURITY.md F32).
    return missingMethod.test(text) ? { kind: 'outdated', cause } : undefined
  }
  if (has(cause, 'overloaded') || overloadedTexts.test(text)) return { kind: 'overloaded', cause }
  const isBroken =
    has(cause, 'durableObjectReset') || has(cause, 'retryable') || brokenTexts.test(text)
  return isBroken ? { kind: 'broken', cause } : undefined
}

const says = {
  broken: 'The connection to the session broke.',
  overloaded: 'The session has too much to do at the moment.',
  outdated: 'The session still runs an older version.',
}

/** The fault as a caller may see it: 503 with `Retry-After`. */
export function unavailable({ kind, cause }: PlatformFault, advice: string): IsolaError {
  return new IsolaError('request_unavailable', `${says[kind]} ${advice}`, {
    transient: kind !== 'overloaded',
    retryAfterMs: kind === 'broken' ? 2_000 : 5_000,
    cause,
  })
}

function has(error: Error, flag: string): boolean {
  return Reflect.get(error, flag) === true
}
