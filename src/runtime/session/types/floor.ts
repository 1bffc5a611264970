import type { FloorTerms } from '#contracts/floor.ts'
import type { Label } from '#contracts/label.ts'

/** Why somebody has the conversation no more. */
export type FloorEnding =
  | 'returned'
  | 'limit'
  | 'timeout'
  | 'failed'
  | 'monitor'
  | 'user'
  | 'operator'
  | 'revoked'
  | 'gone'

/** Who has a conversation, on which lease, until when; and how that ended. */
export interface Floor {
  /** The run in which it was taken. */
  readonly id: string
  /** The name of a tool: a session knows no more of it. */
  readonly holder: string
  /** The call in which it was taken. */
  readonly call: string
  readonly terms: FloorTerms
  readonly sinceMs: number
  readonly untilMs: number
  /** What its messages took, those that are over. */
  readonly messages: number
  readonly tokens: number
  readonly costNanoUsd: number
  /** How many in a row failed. */
  readonly failures: number
  /** Of what it said. */
  readonly label: Label
  readonly end?: {
    readonly reason: FloorEnding
    readonly atMs: number
    readonly summary?: string
    /** Of a summary that is kept aside, of which only where that is is known; that of all it said if absent. */
    readonly label?: Label
    /** The operator who took it back. */
    readonly by?: string
  }
  /** Its end is in the log. */
  readonly isTold?: true
  /** The session's own agent knows of its end. */
  readonly isNoted?: true
}

/** What others may know of it. */
export interface FloorView {
  readonly holder: string
  readonly state: 'held' | 'ended'
  readonly sinceMs: number
  readonly untilMs: number
  readonly messages: number
  readonly maxMessages: number
  readonly tokens: number
  readonly maxTokens: number
  readonly costUsd: number
  readonly reason?: FloorEnding
  readonly endedAtMs?: number
}

export const toFloorView = (floor: Floor): FloorView => ({
  holder: floor.holder,
  state: floor.end ? 'ended' : 'held',
  sinceMs: floor.sinceMs,
  untilMs: floor.untilMs,
  messages: floor.messages,
  maxMessages: floor.terms.maxMessages,
  tokens: floor.tokens,
  maxTokens: floor.terms.maxTokens,
  costUsd: floor.costNanoUsd / 1e9,
  ...(floor.end && { reason: floor.end.reason, endedAtMs: floor.end.atMs }),
})
