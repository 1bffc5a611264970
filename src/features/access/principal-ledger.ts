import type {
  Incident,
  DayAmount,
  PrincipalApi,
  PrincipalLedger,
  PrincipalRates,
  PrincipalReader,
  HeldWork,
} from '#runtime/session/types/principal.ts'
import type { Clock, Sources } from '#contracts/sources.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import { unlimited } from '#contracts/lease.ts'
import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import type { OwnLimits } from '#contracts/keys.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import { fromReply, type ObjectReply } from '#contracts/reply.ts'
import type { LimitsOf } from './limits-of.ts'

const sameEveryMs = 1_000
/** Sessions that fail together must not overload the object they report to: it keeps the operator's day as well. */
const maxInWindow = 20
const maxPlaces = 1_000

/**
 * Whether an incident is worth a call: the same incident at most once a second, all together at most twenty. The
 * first and the last report of an incident pass while the total allows: without the last one it would seem to go on.
 */
function createReportLimit({ nowMs }: Pick<Clock, 'nowMs'>) {
  const places = new Map<string, { readonly isOver: boolean; readonly atMs: number }>()
  let window = { startMs: 0, count: 0 }

  return ({ kind, session, isOver = false }: Incident): boolean => {
    const now = nowMs()
    const key = `${kind} ${session}`
    const last = places.get(key)
    if (last?.isOver === isOver && isWithin(last.atMs, now)) return false
    if (!isWithin(window.startMs, now)) window = { startMs: now, count: 0 }
    window.count += 1
    if (window.count > maxInWindow) return false
    if (places.size >= maxPlaces) places.clear()
    places.set(key, { isOver, atMs: now })
    return true
  }
}

/** False after a clock was set back: the wait is over. */
const isWithin = (startMs: number, now: number) => now >= startMs && now - startMs < sameEveryMs

/** The part of a Durable Object namespace that the ledger uses. */
export interface PrincipalNamespace {
  readonly getByName: (name: string) => unknown
}

/** The objects of principals, and the limits of their days. */
interface PrincipalLedgerOptions extends Pick<Sources, 'sha256' | 'clock'> {
  readonly namespace: PrincipalNamespace
  /** A principal's daily limits. May throw if they cannot be read: then nothing is reserved. */
  readonly limitsOf: LimitsOf
  /** Counts the platform's work that belongs to no run. */
  readonly deployment?: PlatformCount
}

/** All calls to the objects of principals. */
export interface PrincipalObjects
  extends PrincipalLedger, PrincipalReader, PrincipalRates, HeldWork {
  /**
   * `report` for callers that must wait for the delivery: unawaited work may end with the Worker's request. May throw
   * `request_unavailable`.
   */
  readonly tell: (incident: Incident) => Promise<void>
  /** A principal's key or sign-in may have ended: its object looks. May throw `request_unavailable`. */
  readonly lookHeld: (principal: string) => Promise<void>
  /** Empties a principal's object. @returns How many rows it had. May throw `request_unavailable`. */
  readonly empty: (principal: string) => Promise<number>
  /** Starts the pending erasures of persons. May throw `request_unavailable`. */
  readonly erase: () => Promise<void>
}

/** The operator's object keeps the incidents of all sessions. */
const operator = 'operator'
const retryAfterMs = 5_000

/**
 * Reaches the `Principal` objects. Without a limit `reserve` and `settle` return at once and make no call, so that a
 * deployment without limits pays nothing; with a limit a run costs two calls. A call is repeated once if the object
 * was reset meanwhile (every verb is idempotent), never if it is overloaded (docs/reliability.md F30).
 */
export function createPrincipalLedger({
  namespace,
  sha256,
  clock,
  limitsOf,
  deployment,
}: PrincipalLedgerOptions): PrincipalObjects {
  const mayReport = createReportLimit(clock)
  // A stub whose object was reset stays broken: each attempt takes a new one.
  const at = (principal: string) =>
    namespace.getByName(sha256(lengthPrefixed(principalParts(principal)))) as PrincipalApi
  const nobodys: PlatformCount['count'] = (amounts) => deployment?.count(amounts)
  const ask = <T>(
    principal: string,
    call: (api: PrincipalApi) => Promise<ObjectReply<T>>,
    counted = nobodys,
  ): Promise<T> =>
    answered(async () => {
      const reply = await call(at(principal))
      const { own, others } = reply.billed ?? {}
      if (own) counted(own)
      if (others) nobodys(others)
      return reply
    })
  const tell = async (incident: Incident) =>
    void (await ask(operator, (api) => api.report(incident)))

  return {
    async reserve({ limits: known, counted, ...request }) {
      const limits = await limitsFor(limitsOf, request.principal, known)
      if (isUnlimited(limits)) return request.asked
      return ask(request.principal, (api) => api.reserve(request, limits), counted)
    },
    async settle({ limits: known, counted, ...request }) {
      // The limits of the reservation are good enough: the object asks the session for what is not settled here.
      const now = known && { ...known, asOfMs: clock.nowMs() }
      const limits = await limitsFor(limitsOf, request.principal, now)
      // The limit was taken away while the run worked on a piece: the run's spending is booked there all the same.
      if (isUnlimited(limits) && request.piece === undefined) return undefined
      const settle = (api: PrincipalApi) =>
        request.next ? api.settle(request, limits) : api.settle(request)
      return (await ask(request.principal, settle, counted)) ?? undefined
    },
    limitsOf: (principal, known) => limitsFor(limitsOf, principal, known),
    report(incident: Incident) {
      if (!mayReport(incident)) return
      tell(incident).catch(() => undefined) // reported again if the incident goes on
    },
    tell,
    async hold(request) {
      return (await ask(request.principal, (api) => api.hold(request))) ?? undefined
    },
    async release(request) {
      await ask(request.principal, (api) => api.release(request))
    },
    async lookHeld(principal) {
      await ask(principal, (api) => api.lookHeld())
    },
    empty: (principal) => ask(principal, (api) => api.empty()),
    erase: async () => void (await ask(operator, (api) => api.erase())),
    async usage(principal, run) {
      const limits = await limitsFor(limitsOf, principal)
      return ask(principal, (api) => api.usage(limits, run))
    },
    takeRate: (principal, request) => ask(principal, (api) => api.takeRate(request)),
    incidents: (limit) => ask(operator, (api) => api.incidents(limit)),
    clearIncident: (incident) => tell({ ...incident, message: '', isOver: true }),
  }
}

const isUnlimited = ({ tokens, costNanoUsd }: DayAmount) =>
  tokens >= unlimited && costNanoUsd >= unlimited

/** Unreadable limits permit no spending. */
async function limitsFor(
  limitsOf: LimitsOf,
  principal: string,
  known?: OwnLimits,
): Promise<DayAmount> {
  try {
    return await limitsOf(principal, known)
  } catch (cause) {
    throw unavailable(cause)
  }
}

async function answered<T>(call: () => Promise<ObjectReply<T>>): Promise<T> {
  let reply: ObjectReply<T>
  try {
    reply = await call().catch((error: unknown) => {
      if (isReset(error)) return call()
      throw error
    })
  } catch (cause) {
    throw unavailable(cause)
  }
  return fromReply(reply)
}

/** The runtime sets these flags on the object's errors; they survive no further hop. */
function isReset(error: unknown): boolean {
  const flags = error as { retryable?: unknown; durableObjectReset?: unknown; overloaded?: unknown }
  if (typeof error !== 'object' || error === null || flags.overloaded === true) return false
  return flags.retryable === true || flags.durableObjectReset === true
}

function unavailable(cause: unknown): IsolaError {
  const message = 'What may be spent today cannot be looked up. Try again.'
  const detail = errorMessage(cause)
  return new IsolaError('request_unavailable', message, {
    retryAfterMs,
    transient: true,
    detail,
    cause,
  })
}
