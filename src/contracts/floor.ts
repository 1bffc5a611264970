import type { JsonObject } from './json.ts'
import type { Label } from './label.ts'

/** The tool with which a handoff agent returns the conversation; only offered during a handoff. */
export const returnName = 'isola__return'

/** The terms on which a tool takes the conversation. */
export interface FloorTerms {
  readonly maxMessages: number
  readonly maxTokens: number
  readonly maxCostNanoUsd: number
  readonly timeoutMs: number
  readonly monitor: 'rule' | 'model'
  /** The name of the message's field in the tool's input. */
  readonly input: string
  /** Handed back to the tool with each message, unchanged. */
  readonly memo?: JsonObject
}

/** A tool's change of the conversation: a handoff to it, or the return of control. */
export type FloorChange =
  | { readonly take: FloorTerms }
  | { readonly return: { readonly summary: string } }

/** A message that a call passes on to the handoff agent. */
export interface FloorTicket {
  readonly id: string
  /** As the tool gave it. */
  readonly memo?: JsonObject
  readonly monitor: FloorTerms['monitor']
  /** The label of the message alone, without the rest of its session. */
  readonly label: Label
}
