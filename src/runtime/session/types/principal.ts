import type { OwnLimits } from '#contracts/keys.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { ObjectReply } from '#contracts/reply.ts'
import type { ScheduleApi } from './schedule-object.ts'
import type { StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { Submission } from './submission.ts'

/** Work of a session under a principal's credentials. Plain data: it crosses Durable Object RPC. */
export interface HeldWorkRequest {
  readonly principal: string
  readonly session: string
  /** Ids of the key and of the sign-in. */
  readonly credentials: readonly string[]
  /** The place of the newest run in its session. A request about an earlier run is late and changes nothing. */
  readonly upTo: number
}

/** A key or a sign-in that has ended: its work has to stop. */
export interface EndedCredential {
  readonly id: string
  readonly reason: 'revoked' | 'expired'
}

/** Whether work that began with a key or a sign-in may go on. */
export type CredentialState =
  | {
      readonly state: 'active'
      /** When a key ends by itself, epoch milliseconds. */
      readonly endsAtMs?: number
    }
  | { readonly state: 'ended'; readonly reason: EndedCredential['reason'] }

/**
 * The register of work by credential: revoking a key or a sign-in cancels its work within a second, or as soon as its
 * session can be reached. Each verb is idempotent. May throw `request_unavailable`.
 * @see docs/decisions/0070-what-ends-with-a-key.md
 */
export interface HeldWork {
  /**
   * Registers work before or while the run works. @returns The credential that has ended, if any: the run is then
   * cancelled.
   */
  readonly hold: (request: HeldWorkRequest) => Promise<EndedCredential | undefined>
  /** Removes the entry once no work of the session uses these credentials. */
  readonly release: (request: HeldWorkRequest) => Promise<void>
}

/**
 * The credentials whose end cancels a run; none for a run of the operator key. A run that its parent waits for ends
 * with the parent.
 */
export function credentialsOf({
  key,
  grant,
  lineage,
}: Pick<Submission, 'key' | 'grant' | 'lineage'>): readonly string[] {
  if (lineage && !lineage.isBackground) return []
  return [key, grant].filter((id) => id !== undefined)
}

/** The reason of a cancelled run, as its result and the record have it. */
export function whyEnded({ id, reason }: EndedCredential): string {
  const what = id.startsWith('grant_') ? 'sign-in' : 'key'
  return reason === 'expired'
    ? `expired: the ${what} ${id}, with which it was asked for, has come to its end.`
    : `revoked: the ${what} ${id}, with which it was asked for, was taken back.`
}

/** The limited dimensions of a principal's day, as integers. A dimension without a limit is `unlimited`. */
export interface DayAmount {
  readonly tokens: number
  readonly costNanoUsd: number
}

/** One run's part of its principal's day. `run` names it: a repeated request reserves once. */
export interface DayLeaseRequest {
  readonly principal: string
  readonly session: string
  readonly run: string
  /**
   * The most that the run may spend, with the amount that it has settled before. The run gets this or the rest of the
   * day, if that is less. A run that asks for a whole day gets an eighth of the rest, so that others may run beside it.
   */
  readonly asked: DayAmount
  /**
   * The step of the run. A reservation names the step that begins, a settlement the step that was reached. A request
   * for an earlier step than the last known one changes nothing.
   */
  readonly step?: number
  /** The principal's limits as the caller knows them. Looked up if absent or old. */
  readonly limits?: OwnLimits
  /** The piece that the run works on: it becomes the run's own reservation. */
  readonly piece?: string
  /** A piece that the session holds unused and gives back with this request. */
  readonly back?: string
}

/**
 * A part of a day that a session holds for its next run: the answer to the question that this run would ask, asked
 * when the run before it was settled.
 * @see docs/decisions/0116-a-day-in-pieces.md
 */
export interface DayPiece {
  readonly id: string
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  /** The principal's limits when it was reserved, and what was asked. */
  readonly limits: DayAmount
  readonly asked: DayAmount
  readonly amount: DayAmount
}

/** The pieces of a session, as they are stored: at most one for the next run, and those that runs work on. */
export interface HeldPieces {
  readonly free?: DayPiece
  /** The run of each piece whose settlement the day's ledger has not acknowledged. */
  readonly taken: Readonly<Record<string, string>>
}

/** The settlement of a run, and the piece that its session asks for. */
export interface DaySettlement extends Omit<DayLeaseRequest, 'asked' | 'back'> {
  readonly spent: DayAmount
  readonly next?: Pick<DayPiece, 'id' | 'asked'>
}

/**
 * The outermost lease: a principal's day (UTC), above session, run and call. Settled and reserved amounts of a day
 * never exceed its limit together, except by a booked overrun; after that the day grants nothing more. No reservation
 * outlives its run, even after a crash. A reservation belongs to its day: a run that goes on on another day reserves
 * there, and the settled amount stays in the first day.
 *
 * A principal without a limit of the day costs no RPC and no row.
 * @see docs/design.md section 6
 */
export interface PrincipalLedger {
  /**
   * Throws `lease_tokens` or `lease_cost` if nothing is left (`retryAfterMs`: until the day ends), and
   * `request_unavailable` if it cannot be asked: fail closed. A dimension of which nothing is asked is not refused.
   */
  readonly reserve: (request: DayLeaseRequest & AskedByRun) => Promise<DayAmount>
  /**
   * Settles the spending of a run so far, with all runs below it, and ends its reservation. The latest step counts, in
   * whatever order and however often requests arrive. Throws `request_unavailable`; an amount that could not be settled
   * is fetched later (`SessionApi.spentBy`). @returns The piece that was asked for, unless the day is too short for it.
   */
  readonly settle: (request: DaySettlement & AskedByRun) => Promise<DayPiece | undefined>
  /** A principal's limits as of now. Throws `request_unavailable`. Absent: no session holds pieces. */
  readonly limitsOf?: (principal: string, known?: OwnLimits) => Promise<DayAmount>
  /** Shows a problem on the operator's page, or (`isOver`) its end. Never throws, never waits. */
  readonly report: (incident: Incident) => void
}

interface AskedByRun {
  /** Counts the platform's work for the request; the deployment pays if absent. Stays local: it crosses no RPC. */
  readonly counted?: PlatformCount['count']
}

/** Something that an operator should know of; the same kind in the same place counts up. */
export interface Incident {
  readonly kind:
    | 'audit_behind'
    | 'storage_failed'
    | 'run_given_up'
    | 'record_unreadable'
    | 'model_failing'
    | 'delivery_behind'
    | 'alarm_failed'
    | 'telemetry_failed'
    | 'retention_failed'
    | 'wake_loop'
  /** Empty if it is of no session. */
  readonly session: string
  readonly run?: string
  /** Safe for the operator's eyes; no secrets. */
  readonly message: string
  readonly isOver?: boolean
}

/** An incident as it is shown. */
export interface IncidentRecord extends Omit<Incident, 'isOver'> {
  readonly count: number
  readonly firstAtMs: number
  readonly lastAtMs: number
}

/** A wrong key that came from an address. */
export interface FailedLogin {
  readonly address: string
  /** The id of the key, if it was one once. */
  readonly key?: string
}

/** The consequences of a failed login. */
export interface FailedLoginVerdict {
  /** Too many failures: for how long further attempts from this address need no check. */
  readonly retryAfterMs?: number
  /**
   * The failure to record now: for each address and key the first, the tenth, and so on, and the one that exceeded the
   * limit. `count` is of the current window. Without an address it covers all addresses.
   */
  readonly record?: { readonly count: number } & Partial<FailedLogin>
}

/** A principal's day as it stands. */
export interface DayUsage {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly limits: DayAmount
  readonly settled: DayAmount
  readonly reserved: DayAmount
  /** Runs that asked for a reservation of their own; what sessions hold for their next runs is no run. */
  readonly openRuns: number
  /** The most that the run in the request may spend, its own reservation included. Absent if it has none. */
  readonly most?: DayAmount
}

/** A call that counts for each of these. */
export interface RateRequest {
  /** Names the call among all calls of its principal: a repeated request counts once. */
  readonly call: string
  readonly rules: readonly {
    readonly key: string
    /** The most calls in a minute. */
    readonly most: number
  }[]
}

/** With `retryAfterMs` there were too many calls, and this one did not count. */
export interface RateVerdict {
  readonly retryAfterMs?: number
}

/** How often a principal calls tools, over all its runs. Throws `request_unavailable`. */
export interface PrincipalRates {
  readonly takeRate: (principal: string, request: RateRequest) => Promise<RateVerdict>
}

/** The RPC methods of a `Principal` object. */
export interface PrincipalApi extends ScheduleApi {
  readonly takeRate: (request: RateRequest) => Promise<ObjectReply<RateVerdict>>
  readonly reserve: (request: DayLeaseRequest, limits: DayAmount) => Promise<ObjectReply<DayAmount>>
  readonly settle: (
    request: DaySettlement,
    limits?: DayAmount,
  ) => Promise<ObjectReply<DayPiece | null>>
  readonly usage: (limits: DayAmount, run?: string) => Promise<ObjectReply<DayUsage>>
  readonly report: (incident: Incident) => Promise<ObjectReply<null>>
  readonly incidents: (limit: number) => Promise<ObjectReply<readonly IncidentRecord[]>>
  /** Only on the one object that counts failed logins, which is no principal's. */
  readonly loginFailed: (failed: FailedLogin) => Promise<ObjectReply<FailedLoginVerdict>>
  readonly hold: (request: HeldWorkRequest) => Promise<ObjectReply<EndedCredential | null>>
  readonly release: (request: HeldWorkRequest) => Promise<ObjectReply<null>>
  /** A key or a sign-in of this principal may have ended: re-check the sessions that work with it. */
  readonly lookHeld: () => Promise<ObjectReply<null>>
  /** The principal is erased: all of its rows go. Answers how many there were. */
  readonly empty: () => Promise<ObjectReply<number>>
  /** Only on the operator's object: starts the erasure of persons. */
  readonly erase: () => Promise<ObjectReply<null>>
  /** The plugins' storage for this principal, each in a space of its own. */
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
}

/** A principal's days, and the incidents of the deployment, for the operator's page. Throws `request_unavailable`. */
export interface PrincipalReader {
  readonly usage: (principal: string, run?: string) => Promise<DayUsage>
  /** Newest first. */
  readonly incidents: (limit: number) => Promise<readonly IncidentRecord[]>
  /** Removes an incident from the list; if it goes on, it is reported anew. */
  readonly clearIncident: (incident: Pick<Incident, 'kind' | 'session'>) => Promise<void>
}

/** How long a principal's object waits for what. Milliseconds. */
export interface PrincipalTiming {
  /**
   * While reservations are open, their sessions are asked this often what became of the runs: for the first time
   * one to two intervals after it was reserved; of a run that goes on less and less often, at least every hour.
   */
  readonly sweepEveryMs: number
  /** How many days of settled usage are stored, today included. More than the seven that a run may be parked. */
  readonly keepUsageDays: number
  /** How often the key of a run under way is looked up, in case a revocation was not reported. */
  readonly checkHeldEveryMs: number
}

/** The timing of a fresh deployment. */
export const defaultPrincipalTiming: PrincipalTiming = {
  sweepEveryMs: 60_000,
  keepUsageDays: 40,
  checkHeldEveryMs: 600_000,
}
