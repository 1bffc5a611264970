import type { Kernel } from '#contracts/kernel.ts'
import type { Message } from '#contracts/message.ts'
import type { SessionStore } from './store.ts'

/** What was said in a session: a view over the rows. */
export interface Transcript {
  /** Everything of the runs before the one of this order. What is over does not change, so it is read once. */
  readonly before: (order: number) => readonly Message[]
  /** Everything, the run under way included. */
  readonly all: () => readonly Message[]
}

export function createTranscript(
  store: SessionStore,
  messagesOf: Kernel['messagesOf'],
): Transcript {
  const messages: Message[] = []
  let read = 0

  const ofRuns = (from: number, to: number): Message[] =>
    store
      .runs(from, to)
      .flatMap(({ order, submission }) => [
        ...submission.messages,
        ...store.turns(order).flatMap((turn) => messagesOf(turn)),
      ])

  return {
    before(order) {
      if (order - 1 > read) {
        messages.push(...ofRuns(read + 1, order - 1))
        read = order - 1
      }
      return messages
    },
    all: () => ofRuns(1, Number.MAX_SAFE_INTEGER),
  }
}
