import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { SessionApi, SessionGateway } from './types/session-api.ts'
import { keyedRunId, objectNameOf, sessionIdOf } from './storage/ids.ts'

/** A fault between a caller and an object, as far as the platform tells. */
interface PlatformFault {
  /**
   * `broken`: the object or the way to it was lost. `gone`: it was deleted, and has not looked at the request.
   * `overloaded`: it has too much to do. `outdated`: it runs older code.
   */
  readonly kind: 'broken' | 'gone' | 'overloaded' | 'outdated'
  readonly cause: unknown
}

/** The messages of workerd for errors without a flag: "Network connection lost.", "internal error; reference = …". */
const brokenTexts = new RegExp(
  String.raw`\b(abort\w*|reset|evicted|disconnected|connection (was )?(lost|closed)|internal error|` +
    String.raw`transient issue|exceeded|code (was|has been) updated)\b`,
  'i',
)
/** The reason with which an object ends itself when a request comes after its session was deleted. */
export const goneText = 'isola: this session was deleted, the next request begins another'
const overloadedTexts = /\b(overloaded|too much load on Durable Objects)\b/i
const missingMethod = /^The RPC receiver does not implement /

/**
 * Tells the platform's errors from ours; `undefined` for ours, which must stay visible as a bug.
 *
 * An error that code in the object threw arrives with `remote`, an error of the platform without: so flags that a
 * plugin forges on its own error count for nothing (docs/reliability.md F30).
 */
function faultOf(cause: unknown): PlatformFault | undefined {
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
function unavailable({ kind, cause }: PlatformFault, advice: string): IsolaError {
  return new IsolaError('request_unavailable', `${texts[kind]} ${advice}`, {
    transient: kind !== 'overloaded',
    retryAfterMs: kind === 'broken' ? 2_000 : 5_000,
    cause,
  })
}

function has(error: Error, flag: string): boolean {
  return Reflect.get(error, flag) === true
}

/** What the gateway needs of a Durable Object namespace. */
export interface SessionNamespace {
  readonly getByName: (name: string) => unknown
}

interface GatewayOptions {
  readonly namespace: SessionNamespace
  readonly sha256: (text: string) => string
}

/**
 * Objects are named by a hash of length-prefixed parts: no two lists of parts can be mistaken for each other
 * (docs/security.md T2), and a name tells nothing.
 *
 * A call that the platform broke throws `request_unavailable` with the platform's error as `cause`; `transient` is
 * true if another attempt may follow soon, false if the object has too much to do already (docs/reliability.md F1,
 * F30).
 */
export function createSessionGateway({ namespace, sha256 }: GatewayOptions): SessionGateway {
  return {
    at: (session) => {
      const stubOf = () => namespace.getByName(objectNameOf(session, sha256)) as Stub
      return guarded(stubOf, (fault, method, args) => unavailable(fault, adviceOn(method, args)))
    },
    idFor: async (kind, parts) => sessionIdOf([kind, ...parts], sha256),
  }

  function adviceOn(method: Method, args: readonly unknown[]): string {
    if (kinds[method] === 'read') return 'Try again.'
    if (kinds[method] === 'change') return 'The request may have been carried out. Try again.'
    const [session, submission] = args as Parameters<SessionApi['submit']>
    const { principal, idempotencyKey: key } = submission
    if (key === undefined) {
      return (
        `The run may have been accepted: GET /api/sessions/${session} lists what there ` +
        'is. With an Idempotency-Key a request can be repeated and starts no second run.'
      )
    }
    const run = keyedRunId({ session, principal, key }, sha256)
    return (
      `The run ${run} may have been accepted: repeat the request with its ` +
      `Idempotency-Key, or see GET /api/sessions/${session}/runs/${run}.`
    )
  }
}

type Method = keyof SessionApi
type Stub = Readonly<Record<Method, (...args: readonly unknown[]) => Promise<unknown>>>

/** The effect of a repeated call: none, one more change, or one more run (unless it has a key). */
const kinds: Readonly<Record<Method, 'read' | 'change' | 'submission'>> = {
  create: 'change',
  amend: 'change',
  items: 'read',
  submit: 'submission',
  run: 'submission',
  compact: 'change',
  runStream: 'submission',
  owner: 'read',
  about: 'read',
  result: 'read',
  recall: 'read',
  hide: 'change',
  forgetTexts: 'change',
  events: 'read',
  cancel: 'change',
  abandon: 'change',
  steer: 'change',
  decide: 'change',
  changeLimits: 'change',
  retry: 'change',
  cancelCall: 'change',
  endHeld: 'change',
  worksWith: 'read',
  reclaim: 'change',
  deliver: 'change',
  confirm: 'change',
  spentBy: 'read',
  giveBack: 'change',
  context: 'read',
  transcript: 'read',
  tree: 'read',
  delete: 'change',
  storage: 'change',
}

/** Calls a session's object. A read is repeated once after a break, on a new stub: the old stub stays broken. */
function guarded(
  stubOf: () => Stub,
  toError: (fault: PlatformFault, method: Method, args: readonly unknown[]) => Error,
): SessionApi {
  let stub = stubOf()
  const attempt = async (method: Method, args: readonly unknown[]) => {
    try {
      return { value: await stub[method](...args) }
    } catch (error) {
      const fault = faultOf(error)
      if (!fault) throw error
      stub = stubOf()
      return { fault }
    }
  }
  const call = async (method: Method, args: readonly unknown[]) => {
    let outcome = await attempt(method, args)
    // An overloaded object is not called again: that would make it worse (docs/reliability.md F30,
    // docs/security.md T27).
    if (outcome.fault?.kind === 'broken' && kinds[method] === 'read')
      outcome = await attempt(method, args)
    // A deleted object has not looked at the request: the next object gets it.
    if (outcome.fault?.kind === 'gone') outcome = await attempt(method, args)
    if (outcome.fault) throw toError(outcome.fault, method, args)
    return outcome.value
  }
  // Methods are made on demand: there are many, and most stubs get one call.
  return new Proxy({} as SessionApi, {
    get: (_target, name) =>
      isMethod(name) ? (...args: readonly unknown[]) => call(name, args) : undefined,
  })
}

const isMethod = (name: string | symbol): name is Method => Object.hasOwn(kinds, name)
