import type { Floor, FloorEnding } from '#contracts/floor.ts'
import { unlimited } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { RunOptions } from '#contracts/run-options.ts'

/** Said by the user, it takes the conversation back; what comes after it is for the session's own agent. */
const returnCommand = /^\/return(\s|$)/i

export interface Arriving {
  readonly messages: readonly Message[]
  readonly options: Pick<RunOptions, 'compact' | 'isNote' | 'directCall'>
  /** The outcome of work in the background began it, or it goes on from an earlier place than the end. */
  readonly isBeside: boolean
  /** Whether a tool of this name can be called. */
  readonly isThere: (holder: string) => boolean
}

/** Whose a message is. `ends`: the conversation is nobody's any more, and its session's agent answers. */
export type Addressee =
  | { readonly to: 'agent'; readonly ends?: FloorEnding }
  | { readonly to: 'holder'; readonly floor: Floor }

/** Whether somebody has the conversation. */
export const isHeld = (floor: Floor | undefined): floor is Floor =>
  floor !== undefined && !floor.end

/** Who answers a message: the one place where that is decided (Y24). */
export function addresseeOf(message: Arriving, floor: Floor | undefined, nowMs: number): Addressee {
  const { compact, isNote, directCall } = message.options
  if (!isHeld(floor) || message.isBeside || (compact ?? isNote ?? directCall))
    return { to: 'agent' }
  if (isReturn(message.messages)) return { to: 'agent', ends: 'user' }
  if (nowMs >= floor.untilMs) return { to: 'agent', ends: 'timeout' }
  if (isSpent(floor)) return { to: 'agent', ends: 'limit' }
  return message.isThere(floor.holder) ? { to: 'holder', floor } : { to: 'agent', ends: 'gone' }
}

export const isReturn = (messages: readonly Message[]): boolean =>
  returnCommand.test(textOf(messages.slice(-1)).trimStart())

/** What its user said. */
export const textOf = (messages: readonly Message[]): string =>
  messages.flatMap((one) => (one.role === 'user' ? [one.text] : [])).join('\n\n')

/** Nothing is left of its lease. */
export const isSpent = ({ terms, messages, tokens, costNanoUsd }: Floor): boolean =>
  messages >= terms.maxMessages || tokens >= terms.maxTokens || costNanoUsd >= terms.maxCostNanoUsd

/** What one more message may take. */
export const leftOf = ({ terms, tokens, costNanoUsd }: Floor) => ({
  maxTokens: Math.max(0, terms.maxTokens - tokens),
  maxCostNanoUsd:
    terms.maxCostNanoUsd >= unlimited ? unlimited : Math.max(0, terms.maxCostNanoUsd - costNanoUsd),
})
