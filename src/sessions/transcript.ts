import type { TurnRecord } from '#contracts/journal.ts'
import type { Kernel } from '#contracts/kernel.ts'
import type { Message } from '#contracts/message.ts'
import type { RunRow, SessionStore } from './store.ts'

/** What was said in a session: a view over the rows. */
export interface Transcript {
  /** Everything of the runs before the one of this order. What is over does not change, so it is read once. */
  readonly before: (order: number) => readonly Message[]
  /** Everything, the run under way included. */
  readonly all: () => readonly Message[]
  /** Something came in for a run that is over: it is read again. */
  readonly forget: () => void
}

export function createTranscript(
  store: SessionStore,
  messagesOf: Kernel['messagesOf'],
): Transcript {
  let known: Message[] = []
  let read = 0

  const ofRun = (row: RunRow, turns: readonly TurnRecord[]): Message[] => {
    const seen = turns.reduce((sum, { received = [] }) => sum + received.length, 0)
    const late = (row.inbox ?? []).slice(seen).map(({ message }) => message)
    return [...row.submission.messages, ...turns.flatMap((turn) => messagesOf(turn)), ...late]
  }

  return {
    before(order) {
      const rest: Message[] = []
      for (const row of store.runs(read + 1, order - 1)) {
        const turns = store.turns(row.order)
        const messages = ofRun(row, turns)
        // A parked run may still change, and with it everything after it.
        if (rest.length > 0 || !turns.at(-1)?.final) rest.push(...messages)
        else {
          known.push(...messages)
          read = row.order
        }
      }
      return rest.length > 0 ? [...known, ...rest] : known
    },
    all: () => store.runs().flatMap((row) => ofRun(row, store.turns(row.order))),
    forget() {
      known = []
      read = 0
    },
  }
}
