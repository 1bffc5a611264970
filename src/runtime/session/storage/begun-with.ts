import type { FloorTicket } from '#contracts/floor.ts'
import type { Message } from '#contracts/message.ts'
import type { Submission } from '../types/submission.ts'
import type { AddedText, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'

/**
 * What a run was begun with, as its row names it. Runs that begin with the same share what the first of them keeps in
 * its own row, so that a run of an agent that has not changed writes nothing for it, and the others no row.
 */
export interface RunPin {
  /** sha-256 of it as JSON. */
  readonly hash: string
  /** The place of the run that keeps it. */
  readonly at: number
  /** In the row of that run only; gone once another is the newest and no unfinished run needs it. */
  readonly agent?: PinnedAgent
  /** Places of runs that keep an older one, since somebody may still need it. */
  readonly older?: readonly number[]
}

/** What a run was begun with, in its row. */
export interface BegunWith {
  /** Absent until the run's first write. */
  readonly pin?: RunPin
  /** What hooks added to its first model call; nothing if absent. */
  readonly added?: readonly AddedText[]
  /** What its agent was reminded of: said before what was asked. */
  readonly recalled?: Message
  /** What its agent speaks as; without a hash there was none of this name. */
  readonly persona?: { readonly name: string; readonly hash?: string }
  /** Its message is passed on to whoever had the conversation when it began, as long as that is so. */
  readonly passedOn?: PassedOn
  /** What its agent is told of who had the conversation before it: said before what was asked. */
  readonly handedBack?: { readonly floor: string; readonly message: Message }
}

export interface PassedOn extends FloorTicket {
  readonly holder: string
  /** What the message is called in the holder's input. */
  readonly input: string
}

/** What a run goes on from beside what was said before it. */
export const saidAtBeginning = ({
  recalled,
  handedBack,
  submission: { messages },
}: BegunWith & { readonly submission: Pick<Submission, 'messages'> }): readonly Message[] => {
  const before = [...(recalled ? [recalled] : []), ...(handedBack ? [handedBack.message] : [])]
  return before.length > 0 ? [...before, ...messages] : messages
}
