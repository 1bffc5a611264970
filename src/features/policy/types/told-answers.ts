import type { Label } from '#contracts/label.ts'
import type { Message } from '#contracts/message.ts'

/**
 * What was answered to clients that bring their whole conversation along with each request. What such a client says
 * that an assistant said has the label that it had when it was said here.
 * @see docs/decisions/0078-what-a-client-says-we-said.md
 */
export interface ToldAnswers {
  /** Words that go to a client, in answer to the last thing that a user says in `said`. Rejects where that cannot be kept. */
  readonly tell: (
    principal: string,
    answer: {
      readonly said: readonly Message[]
      readonly texts: readonly string[]
      readonly label: Label
    },
  ) => Promise<void>
  /** The same messages, labelled. Never rejects: with the worst where nobody knows. */
  readonly labelled: (
    principal: string,
    messages: readonly Message[],
  ) => Promise<readonly Message[]>
}
