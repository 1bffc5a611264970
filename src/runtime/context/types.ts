import type { ContextSettings, Compaction } from '#contracts/context.ts'
import type { Message } from '#contracts/message.ts'
import type { Label } from '#contracts/label.ts'
import type { ToolDefinition, ContextModel } from '#contracts/model.ts'
import type { Limits } from '#contracts/lease.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { ProvidedAnswer } from '#contracts/provider.ts'
import type { BuiltContext } from '#runtime/kernel/types/context.ts'
import { headOf, tailOf } from '#contracts/cut.ts'

export const defaultContextSettings: ContextSettings = { start: 0.8, target: 0.5 }

/** The request for a summary. */
export interface SummaryRequest {
  readonly messages: readonly Message[]
  readonly maxOutputTokens: number
}

export interface SummaryReply {
  readonly text: string
  /** The cost of the call, as booked. */
  readonly tokens: number
  readonly costNanoUsd: number
  /** The label of texts that were added to the request; absent if there were none. */
  readonly label?: Label | undefined
}

/** The messages of one model call before they are sent, and who helps to make them fewer. */
export interface ContextInput {
  /**
   * The whole conversation: the agent's instructions, the transcript, this run's turns. It only grows at its end. On
   * another branch the records of this one do not fit, and are ignored.
   */
  readonly messages: readonly Message[]
  /** The place of the run's task; the user's last message if absent. */
  readonly taskAt?: number
  readonly tools: readonly ToolDefinition[]
  readonly model: ContextModel
  /** The rest of the run's lease. */
  readonly left: Pick<Limits, 'maxTokens' | 'maxCostNanoUsd'>
  readonly settings: ContextSettings
  /** The earlier compactions of these messages, oldest first. The newest that fits is applied. */
  readonly records: readonly Compaction[]
  /** The newest record is of this very step: it is applied, and nothing is decided again. */
  readonly isDecided?: boolean
  /** Compact whatever the size: the model refused the request as too long, or a principal asked for a compaction. */
  readonly force?: 'context_error' | 'requested'
  /** Whether a principal decided on this call or answered it. */
  readonly isDecision?: (answer: Message) => boolean
  /** Whether a message belongs to a failed run: it is not among the last turns, and is quoted last. */
  readonly isLeftOver?: (message: Message) => boolean
  /**
   * Keeps a text of at most 250,000 characters. Answers the handle under which the output tool opens it, the same for
   * the same text. Undefined if there was no room for it. Absent: no reader could open it later, so messages that leave
   * are lost.
   */
  readonly keep?: (text: string) => Promise<string | undefined>
  /**
   * Out of the run's own lease. A failure with a code `lease_…` or `model_…` means that the summary is made by rule;
   * any other one ends the step. Absent: by rule.
   */
  readonly summarize?: (request: SummaryRequest) => Promise<SummaryReply>
  /** Asks the plugin that provides the context. Nothing if none does; absent: there are none here. */
  readonly choose?: (asked: JsonObject) => Promise<ProvidedAnswer | undefined>
  readonly signal: AbortSignal
}

/**
 * Fits the transcript into the model's window. Stateless: the same input gives the same messages.
 *
 * Throws `request_too_large` if a single message is larger than the window (the limit is in the text),
 * `model_not_capable` if instructions and tools are, the reason of the signal, and the errors of `keep`.
 */
export interface ContextBuilder {
  /** False if `build` would hand the messages back as they are: costs no more than counting them. */
  readonly isNeeded: (input: ContextInput) => boolean
  readonly build: (input: ContextInput) => Promise<BuiltContext>
}

/** The beginning and the end, where it is longer. */
export const bothEnds = (text: string, maxChars: number): string => {
  if (text.length <= maxChars) return text
  const head = Math.floor((maxChars * 3) / 4)
  return `${headOf(text, head)} … ${tailOf(text, maxChars - head)}`
}
