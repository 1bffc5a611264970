import type { Message } from '#contracts/message.ts'
import type { CreateCompactor } from '../compactor-contract.ts'

/** A common way: the oldest turns go, without a trace. The scorer has to report the loss. */
export const createCompactor: CreateCompactor = () => {
  return ({ messages, windowTokens, countTokens }) => {
    if (countTokens(messages) <= windowTokens * 0.8) return { messages, isCompacted: false }
    const [system, ...rest] = messages
    const shown = (from: number): readonly Message[] => [system!, ...rest.slice(from)]
    let from = 0
    while (from < rest.length && countTokens(shown(from)) > windowTokens * 0.5) {
      from += 1
      while (rest[from]?.role === 'tool') from += 1
    }
    return { messages: shown(from), isCompacted: true }
  }
}
