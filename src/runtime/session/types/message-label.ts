import { type Message, labelOfAll } from '#contracts/message.ts'
import type { Compaction } from '#contracts/context.ts'
import { type Label, joinLabels } from '#contracts/label.ts'

/**
 * The label of a transcript and its compactions. Compactions count too: a summary may contain more than the messages
 * that it replaces.
 */
export function labelOfContext(
  messages: readonly Message[],
  compactions: readonly Compaction[],
): Label {
  const parts = compactions.flatMap((one) => one.parts)
  const summaries = parts.flatMap((part) => ('summary' in part && part.label ? [part.label] : []))
  return joinLabels([labelOfAll(messages), ...summaries])
}
