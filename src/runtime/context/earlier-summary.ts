import type { Message } from '#contracts/message.ts'
import { isSummary } from './sayer.ts'

/** What summaries among some messages said: of a client that keeps its own nothing else has it. */
export interface EarlierSummary {
  /** Lines under a title, the newest first. */
  readonly under: (title: string) => readonly string[]
  /** Paragraphs that a model wrote, the newest summary's first. */
  readonly prose: readonly string[]
}

/** @param titles Of the sections by rule; what has none is prose. */
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
