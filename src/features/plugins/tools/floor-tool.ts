import { toNanoUsd } from '#runtime/catalog/types/permit.ts'
import type { FloorChange } from '#contracts/floor.ts'
import type { Json } from '#contracts/json.ts'
import type { ToolManifest } from '../types/manifest.ts'
import type { ToolContext, ToolEntry } from '#contracts/tool.ts'

/**
 * A tool whose manifest has `handoff` may keep the conversation: if its code answers `{ say }`, it gets the next
 * message too; `{ say, done: true, summary? }` returns control. Any other answer is an ordinary result, without a
 * handoff.
 */
export function withHandoff(
  entry: ToolEntry,
  { handoff }: Pick<ToolManifest, 'handoff'>,
): ToolEntry {
  if (!handoff) return entry
  const terms = {
    maxMessages: handoff.max_messages,
    maxTokens: handoff.max_tokens,
    maxCostNanoUsd: toNanoUsd(handoff.max_cost_usd),
    timeoutMs: handoff.timeout_ms,
    monitor: handoff.monitor,
    input: 'message',
  }
  const { execute } = entry.tool
  return {
    ...entry,
    tool: {
      ...entry.tool,
      async execute(input, context) {
        const result = await execute(input, context)
        const spoken = result.ok && spokenIn(result.output)
        if (!spoken) return result
        const { say, isDone, summary } = spoken
        const floor: FloorChange = isDone ? { return: { summary } } : { take: terms }
        return { ...result, output: say, ...(mayKeep(context) && { floor }) }
      },
    },
  }
}

const mayKeep = ({ options, parent }: ToolContext): boolean =>
  parent === undefined && (options.mayHandOff === true || options.directCall?.floor !== undefined)

function spokenIn(output: Json) {
  const { say, done, summary = say } = Object(output) as Record<string, unknown>
  return typeof say === 'string' && { say, isDone: done === true, summary: String(summary) }
}
