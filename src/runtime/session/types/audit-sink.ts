import type { JsonObject } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import type { EventChain } from '#contracts/event-bus.ts'
import type { PlatformCount, PlatformAmounts } from '#contracts/platform.ts'
import type { RunState } from '#contracts/agent.ts'
import type { SessionEvent } from '#contracts/event.ts'

/** A run that the session gave up after too many interruptions, and the operator's decision about it. */
export interface GivenUpRun {
  readonly run: string
  readonly session: string
  readonly principal: string
  readonly agent: string
  readonly trace: string
  readonly code: string
  readonly message: string
  readonly atMs: number
  readonly state: 'open' | 'retried' | 'dropped'
}

/** The list an operator works through. Rows arrive with the audit log. Every verb may throw `request_unavailable`. */
export interface GivenUpRuns {
  /** Newest first. */
  readonly list: (query: {
    readonly state: GivenUpRun['state']
    readonly limit: number
  }) => Promise<readonly GivenUpRun[]>
  readonly find: (run: string) => Promise<GivenUpRun | undefined>
  /** Changes the state only from `open`. */
  readonly resolve: (run: string, state: 'retried' | 'dropped') => Promise<void>
}

/** An event on its way to its subscribers. Plain data: it crosses Durable Object RPC. */
export interface Emitted {
  /** `<session>:<seq>`: its place in its emitter's log. */
  readonly id: string
  /** `<plugin>.<event>` as its manifest declares it, or `isola.<kind>` of our own. */
  readonly name: string
  readonly atMs: number
  /** The owner of the session. */
  readonly principal: string
  readonly session: string
  readonly run: string
  readonly agent: string
  /** W3C trace id: that of the chain's first run, so that it names the whole chain. */
  readonly trace: string
  readonly payload: JsonObject
  readonly label: Label
  /** Every principal may subscribe to it. */
  readonly isPublic?: true
  /** Absent where no event began the run that emitted it. */
  readonly chain?: EventChain
}

/** The object that has a subscription: a principal's, or a plugin's for the deployment. */
export type SubscriptionOwner = `principal:${string}` | `plugin:${string}`

/** Carries events from logs to subscribers. Throws `request_unavailable`. */
export interface EventBus {
  /** The objects with a subscription that may want an event, by event id. */
  readonly ownersOf: (
    events: readonly Emitted[],
    counted?: PlatformCount['count'],
  ) => Promise<ReadonlyMap<string, readonly SubscriptionOwner[]>>
  /** Delivers an event. A repeated delivery has no effect. */
  readonly tell: (owner: SubscriptionOwner, event: Emitted) => Promise<void>
}

/**
 * The session that a log belongs to. A name that is deleted and used again starts a new log: `sinceMs` tells them
 * apart.
 */
export interface AuditOwner {
  readonly session: string
  readonly principal: string
  /** When the session was made, epoch milliseconds. */
  readonly sinceMs: number
}

/** A session as the list of sessions shows it. */
export interface SessionCard {
  readonly agent?: string
  /** `named`: the client gave it an id and may come back to it. */
  readonly kind: 'named' | 'stateless' | 'child'
  /** When its last run came in or ended, epoch milliseconds. */
  readonly usedAtMs: number
  readonly runs: number
  /** The state of its last run. */
  readonly state?: RunState
}

/** A stretch of a session's log, and how the session stands. */
export interface AuditBatch {
  /** May be none: then it tells of the session alone. */
  readonly events: readonly SessionEvent[]
  readonly card: SessionCard
  /**
   * Checked in the same step: if a subscription may want one of these events, nothing is written and `append` throws.
   */
  readonly unheard?: readonly Emitted[]
}

/** Called with the database's work, once for each reply. */
export type Counted = (amounts: PlatformAmounts) => void

/**
 * The rows that D1 bills when a run is sent to the record, with indexes. Known beforehand, so that the run can book
 * them itself. A row of the record has two indexes; the row of a session has five, of a sub-agent's session one, and a
 * session that is listed already changes none.
 */
export const recordRows = (kind: SessionCard['kind'], isListed: boolean): number => {
  if (isListed) return 4
  return kind === 'child' ? 5 : 9
}

/** Takes a session's log and its entry in the list of sessions. Batches may arrive twice and must then land once. */
export interface AuditSink {
  readonly append: (owner: AuditOwner, batch: AuditBatch, counted?: Counted) => Promise<void>
  /** The highest `seq` that landed, 0 if the session is listed without an event, -1 if it is not listed. */
  readonly watermark: (owner: AuditOwner, counted?: Counted) => Promise<number>
  /** Takes the session off the list; its events stay. Repeated, it changes nothing. */
  readonly unlist: (owner: AuditOwner) => Promise<void>
}
