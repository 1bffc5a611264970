import type { Message } from '#contracts/message.ts'
import { isSummary } from './sayer.ts'

/** The contents of summaries among the messages. If a client stores its own transcript, only its summary has them. */
export interface EarlierSummary {
  /** Lines under a title, the newest first. */
  readonly under: (title: string) => readonly string[]
  /** Paragraphs that a model wrote, the newest summary's first. */
  readonly prose: readonly string[]
}

/** @param titles The titles of the sections by rule. A section without a title is prose. */
export function readEarlier(
  messages: readonly Message[],
  titles: readonly string[],
): EarlierSummary {
  const lines = new Map<string, string[]>()
  const prose: string[] = []
  for (const message of messages.toReversed()) {
    if (message.role !== 'user' || !isSummary(message)) continue
    const [, ...parts] = message.text.split('\n\n')
    for (const part of parts) {
      const [title = '', ...own] = part.split('\n')
      if (titles.includes(title)) lines.set(title, [...(lines.get(title) ?? []), ...own.reverse()])
      else prose.push(part)
    }
  }
  return { under: (title) => lines.get(title) ?? [], prose }
}
