import type { PlatformAmounts } from '#contracts/platform.ts'
import type { RunState } from '#contracts/agent.ts'
import type { Emitted } from './event-bus.ts'
import type { SessionEvent } from '#contracts/event.ts'

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
