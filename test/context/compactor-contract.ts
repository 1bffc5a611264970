import type { Json } from '#contracts/json.ts'
import type { Message } from '#contracts/message.ts'

/**
 * The function under test: called before each model step, it says what the model is shown. `test/context/compactor.ts` is the
 * place of Isola's own; it exports `createCompactor`, and nothing else here knows it.
 */
export type Compactor = (input: StepInput) => StepResult | Promise<StepResult>

/** One for each transcript: what it remembers is of one conversation. */
export type CreateCompactor = () => Compactor

export interface StepInput {
  /** What it answered before the last step, and what came since: no call without its answer. */
  readonly messages: readonly Message[]
  /** The whole conversation so far, for a compactor that makes its window of it. Same objects as in `messages`. */
  readonly transcript: readonly Message[]
  readonly windowTokens: number
  /** What the rules of the scorer count with: Isola's own estimate, of messages without tools. */
  readonly countTokens: (messages: readonly Message[]) => number
  /**
   * Keeps a text for `isola__read_output` and answers with its handle, `handle` itself if one is given (letters, digits
   * and `._:-`). The text counts as found only as long as the window names the handle. The same handle again replaces it.
   */
  readonly keep: (text: string, handle?: string) => string
  /** Ids of calls that a person approved or denied so far, which the journal knows and messages do not show. */
  readonly decidedCalls: readonly string[]
  /** Ids of calls that still wait for a person, which the journal knows as well; they are answered `tool_pending`. */
  readonly waitingCalls: readonly string[]
  /** The `state` of the last step's answer. */
  readonly state: Json | undefined
}

export interface StepResult {
  readonly messages: readonly Message[]
  /** Whether this was a compaction. If not, `messages` have to be those of the input, to the byte. */
  readonly isCompacted: boolean
  readonly state?: Json
}
