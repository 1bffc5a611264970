import type { AgentResult } from '#contracts/agent.ts'
import { toToolResult } from '#runtime/kernel/types/agent-outcome.ts'
import { returnName, type FloorChange, type FloorTerms } from '#contracts/floor.ts'
import type { Json } from '#contracts/json.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ToolResult } from '#contracts/tool.ts'
import type { PlanStep } from '#runtime/kernel/types/plan.ts'
import type { Label } from '#contracts/label.ts'

/** The handoff that a call began or ended, if any. */
export const floorChangeOf = (result: ToolResult | undefined): FloorChange | undefined =>
  result?.ok ? result.floor : undefined

/** A tool's output as text for a person. */
export const wordsOf = (output: Json): string =>
  typeof output === 'string' ? output : JSON.stringify(output)

/** The result of a run as its caller reads it, for an agent that may keep the conversation. */
export function toHolderResult(
  ended: AgentResult,
  { holds }: Pick<RunOptions, 'holds'>,
): ToolResult {
  const result = toToolResult(ended)
  if (!holds || !result.ok) return result
  const last = ended.actions.at(-1)
  const hasReturned = last?.tool === returnName && last.ok
  const summary = wordsOf(ended.output?.['summary'] ?? '')
  return {
    ...result,
    output: ended.result,
    floor: hasReturned ? { return: { summary } } : { take: holds },
  }
}

/** The step with which a planner says that it takes the conversation back and answers itself. */
export const reclaimStep: PlanStep = { type: 'internal', reason: 'floor:monitor' }

export const monitorReclaims = (step: PlanStep): boolean =>
  step.type === 'internal' && step.reason === reclaimStep.reason

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
