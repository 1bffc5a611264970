import type { Message } from '#contracts/message.ts'

/** The faults that may never happen. */
export const rules = {
  failed: 'the compactor threw',
  changed: 'what was shown before changed, and no compaction was said',
  rules_changed: 'the system prompt is not as it was',
  unpaired: 'a call without its answer right after it, or an answer without its call',
  too_large: 'what is shown is larger than the window',
  over_half: 'more than half of the window is full right after a compaction',
  grew: 'larger after a compaction than before',
  too_soon: 'a second compaction within 10 turns, and no more than a quarter of the window came in',
  not_found_again: 'a result was cleared, and no handle in the window leads to it',
  pinned_lost: 'what is pinned is neither in the window nor behind one read',
} as const
export type Rule = keyof typeof rules

export interface Broken {
  readonly rule: Rule
  /** How many messages there were. */
  readonly at: number
  readonly detail: string
}

export const minTurnsBetween = 10

/** The last turns that are pinned: at most so many tokens or this part of the window. */
const lastTurns = { maxTokens: 20_000, ofWindow: 1 / 4 }

/** Whether both are the same to the byte. */
export const isSame = (one: Message | undefined, other: Message | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other)

export const areSame = (one: readonly Message[], other: readonly Message[]): boolean =>
  one.length === other.length && one.every((message, at) => isSame(message, other[at]))

/** The first call without an answer, or answer without a call, or `undefined`. */
export function findUnpaired(messages: readonly Message[]): string | undefined {
  const seen = new Set<string>()
  let open = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.callId)) return message.callId
      continue
    }
    const [left] = open
    if (left !== undefined) return left
    if (message.role !== 'assistant') continue
    open = new Set((message.toolCalls ?? []).map(({ id }) => id))
    for (const id of open) {
      if (seen.has(id)) return id
      seen.add(id)
    }
    if (open.size !== (message.toolCalls ?? []).length) return 'the same id twice'
  }
  return [...open][0]
}

/** The index from which a conversation is its last turns: whole ones, a user's message is one. */
export function startOfLastTurns(
  messages: readonly Message[],
  options: {
    readonly windowTokens: number
    readonly countTokens: (messages: readonly Message[]) => number
  },
): number {
  const most = Math.min(lastTurns.maxTokens, options.windowTokens * lastTurns.ofWindow)
  let [start, tokens] = [messages.length, 0]
  for (let at = messages.length - 1; at > 0; at -= 1) {
    const message = messages[at]!
    tokens += options.countTokens([message])
    if (tokens > most) break
    if (message.role !== 'tool') start = at
  }
  return start
}
