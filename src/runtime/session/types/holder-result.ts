import type { AgentResult } from '#contracts/agent.ts'
import { toToolResult } from '#runtime/kernel/types/agent-outcome.ts'
import { returnName, type FloorChange } from '#contracts/floor.ts'
import type { Json } from '#contracts/json.ts'
import type { RunOptions } from '#contracts/run-options.ts'
import type { ToolResult } from '#contracts/tool.ts'

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
