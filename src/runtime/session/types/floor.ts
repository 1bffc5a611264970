import type { FloorTerms } from '#contracts/floor.ts'
import type { Label } from '#contracts/label.ts'

/** Why a handoff ended. */
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

/** A handoff: its agent, its lease, until when; and how it ended. */
export interface Floor {
  /** The run in which it began. */
  readonly id: string
  /** The handoff agent, by its tool's name. The session knows nothing else of it. */
  readonly holder: string
  /** The call in which it began. */
  readonly call: string
  readonly terms: FloorTerms
  readonly sinceMs: number
  readonly untilMs: number
  /** The number of finished messages to it. `tokens` and `costNanoUsd` are theirs. */
  readonly messages: number
  readonly tokens: number
  readonly costNanoUsd: number
  /** Failed messages in a row. */
  readonly failures: number
  /** The label of everything that it said. */
  readonly label: Label
  readonly end?: {
    readonly reason: FloorEnding
    readonly atMs: number
    readonly summary?: string
    /**
     * The label of a summary that is stored aside, where a model sees only its handle. Absent: the label of everything
     * that it said.
     */
    readonly label?: Label
    /** The operator who ended it. */
    readonly by?: string
  }
  /** The log has its end. */
  readonly isTold?: true
  /** The session's own agent was told of its end. */
  readonly isNoted?: true
}

/** A handoff as clients see it. */
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
