import type { Floor, FloorEnding } from '../types/floor.ts'
import { unlimited } from '#contracts/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { RunOptions } from '#contracts/run-options.ts'

/** The user's command to take the conversation back; the text after it is for the session's own agent. */
const returnCommand = /^\/return(\s|$)/i

export interface Arriving {
  readonly messages: readonly Message[]
  readonly options: Pick<RunOptions, 'compact' | 'isNote' | 'directCall'>
  /** The outcome of a background call began the run, or the run goes on from a place before the end of the session. */
  readonly isBeside: boolean
  /** Whether a tool of this name can be called. */
  readonly isThere: (holder: string) => boolean
}

/** The agent that gets a message. `ends`: the handoff ends for this reason, and the session's own agent answers. */
export type Addressee =
  | { readonly to: 'agent'; readonly ends?: FloorEnding }
  | { readonly to: 'holder'; readonly floor: Floor }

/** Whether an agent has the conversation. */
export const isHeld = (floor: Floor | undefined): floor is Floor =>
  floor !== undefined && !floor.end

/** Decides which agent answers a message. No other place decides that (Y24). */
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

/** The text of the user's messages. */
export const textOf = (messages: readonly Message[]): string =>
  messages.flatMap((one) => (one.role === 'user' ? [one.text] : [])).join('\n\n')

/** Whether the lease of the handoff is used up. */
export const isSpent = ({ terms, messages, tokens, costNanoUsd }: Floor): boolean =>
  messages >= terms.maxMessages || tokens >= terms.maxTokens || costNanoUsd >= terms.maxCostNanoUsd

/** The limits of one more message. */
export const leftOf = ({ terms, tokens, costNanoUsd }: Floor) => ({
  maxTokens: Math.max(0, terms.maxTokens - tokens),
  maxCostNanoUsd:
    terms.maxCostNanoUsd >= unlimited ? unlimited : Math.max(0, terms.maxCostNanoUsd - costNanoUsd),
})
