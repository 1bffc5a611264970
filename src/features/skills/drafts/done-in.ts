import type { StreamItem } from '#contracts/event.ts'
import type { DraftWriting } from '#runtime/catalog/types/skill-draft.ts'

const maxTools = 50
const ownPrefix = 'isola__'

/** Which model answered last in a run, and which tools it called, ours aside: where a draft came from. */
export function doneIn(log: readonly StreamItem[]): Pick<DraftWriting, 'model' | 'tools'> {
  const models = log.flatMap((item) =>
    item.type === 'model_called' ? [`${item.data.provider}/${item.data.model}`] : [],
  )
  const tools = log.flatMap((item) =>
    item.type === 'tool_started' && !item.data.tool.startsWith(ownPrefix) ? [item.data.tool] : [],
  )
  const model = models.at(-1)
  return {
    ...(model !== undefined && { model }),
    tools: [...new Set(tools)].slice(0, maxTools),
  }
}
