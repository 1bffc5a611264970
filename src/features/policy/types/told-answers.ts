import type { Label } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'

/**
 * Answers to clients that send their whole conversation with each request. An assistant message from such a client
 * gets the label that this answer had when it was given.
 * @see docs/decisions/0078-what-a-client-says-we-said.md
 */
export interface ToldAnswers {
  /** Stores the texts of an answer to the last user message in `said`. Rejects if they cannot be stored. */
  readonly tell: (
    principal: string,
    answer: {
      readonly said: readonly Message[]
      readonly texts: readonly string[]
      readonly label: Label
    },
  ) => Promise<void>
  /**
   * The same messages, labelled. Never rejects: if the storage cannot be read, assistant messages get the worst
   * label.
   */
  readonly labelled: (
    principal: string,
    messages: readonly Message[],
  ) => Promise<readonly Message[]>
}
