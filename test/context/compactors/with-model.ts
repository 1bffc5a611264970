import type { SummaryReply, SummaryRequest } from '../../../src/runtime/context/types.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { withSummaries } from '../compactor.ts'

const { ofText } = createTokenEstimator()
const maxSentence = 220

/**
 * A stand-in for a model that writes summaries: of each thing that was said one sentence, the last with a digit in it
 * or else the first, the newest first until its room is used up. Knows nothing of what was planted.
 */
async function summarize({ messages, maxOutputTokens }: SummaryRequest): Promise<SummaryReply> {
  const asked = messages.map((message) => (message.role === 'tool' ? '' : message.text))
  const said = (asked.at(-1) ?? '').split('\n\n')
  const lines: string[] = []
  let left = maxOutputTokens
  for (const one of said.toReversed()) {
    const line = sentenceOf(one)
    left -= ofText(line) + 1
    if (left < 0) break
    lines.unshift(line)
  }
  const text = lines.join('\n')
  return { text, tokens: ofText(asked.join('\n')) + ofText(text), costNanoUsd: 0 }
}

function sentenceOf(said: string): string {
  const sentences = said.split(/(?<=[.!?。])\s+/)
  const chosen = sentences.findLast((one) => /\p{Nd}/u.test(one)) ?? sentences[0] ?? ''
  return chosen.slice(0, maxSentence)
}

/** The compactor that Isola uses, with a model for its summaries. */
export const createCompactor = withSummaries(summarize)
