import type { Message } from '#contracts/message.ts'
import type { Compaction } from '#contracts/context.ts'
import type { Label } from '#contracts/label.ts'
import { joinLabels } from '#contracts/label.ts'
import { labelOfAll } from '#contracts/message-label.ts'

/** Of a transcript and of what stands for some of it: more went into a summary than what it sums up. */
export function labelOfContext(
  messages: readonly Message[],
  compactions: readonly Compaction[],
): Label {
  const parts = compactions.flatMap((one) => one.parts)
  const summaries = parts.flatMap((part) => ('summary' in part && part.label ? [part.label] : []))
  return joinLabels([labelOfAll(messages), ...summaries])
}
