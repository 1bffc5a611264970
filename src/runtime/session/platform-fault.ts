import { errorMessage, IsolaError } from '#contracts/errors.ts'

/** A fault between a caller and an object, as far as the platform tells. */
export interface PlatformFault {
  /** `broken`: the object or the way to it was lost. `gone`: it was deleted, and has not looked at the request. `overloaded`: it has too much to do. `outdated`: it runs older code. */
  readonly kind: 'broken' | 'gone' | 'overloaded' | 'outdated'
  readonly cause: unknown
}

/** The messages of workerd for errors without a flag: "Network connection lost.", "internal error; reference = …". */
const brokenTexts =
  /\b(abort\w*|reset|evicted|disconnected|connection (was )?(lost|closed)|internal error|transient issue|exceeded|code (was|has been) updated)\b/i
/** The reason with which an object ends itself when a request comes after its session was deleted. */
export const goneText = 'isola: this session was deleted, the next request begins another'
const overloadedTexts = /\b(overloaded|too much load on Durable Objects)\b/i
const missingMethod = /^The RPC receiver does not implement /

/**
 * Tells the platform's errors from ours; `undefined` for ours, which must stay visible as a bug.
 *
 * An error that code in the object threw arrives with `remote`, an error of the platform without: so flags that a plugin
 * forges on its own error count for nothing (docs/reliability.md F30).
 */
export function faultOf(cause: unknown): PlatformFault | undefined {
  if (!(cause instanceof Error)) return undefined
  const text = errorMessage(cause)
  if (has(cause, 'remote')) {
    // Between two versions of the Worker: the object will be restarted with the newer code (docs/reliability.md F32).
    return missingMethod.test(text) ? { kind: 'outdated', cause } : undefined
  }
  const says = (pattern: RegExp) => cause.name === 'Error' && pattern.test(text)
  if (cause.message === goneText) return { kind: 'gone', cause }
  if (has(cause, 'overloaded') || says(overloadedTexts)) return { kind: 'overloaded', cause }
  const isBroken = has(cause, 'durableObjectReset') || has(cause, 'retryable') || says(brokenTexts)
  return isBroken ? { kind: 'broken', cause } : undefined
}

const texts = {
  broken: 'The connection to the session broke.',
  gone: 'The session was deleted a moment ago.',
  overloaded: 'The session has too much to do at the moment.',
  outdated: 'The session still runs an older version.',
}

/** The fault as a caller may see it: 503 with `Retry-After`. */
export function unavailable({ kind, cause }: PlatformFault, advice: string): IsolaError {
  return new IsolaError('request_unavailable', `${texts[kind]} ${advice}`, {
    transient: kind !== 'overloaded',
    retryAfterMs: kind === 'broken' ? 2_000 : 5_000,
    cause,
  })
}

function has(error: Error, flag: string): boolean {
  return Reflect.get(error, flag) === true
}
