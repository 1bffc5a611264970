import type { FloorTicket } from '#contracts/floor.ts'
import type { Message } from '#contracts/message.ts'
import type { Submission } from '../types/submission.ts'
import type { AddedText, PinnedAgent } from '#runtime/kernel/types/agent-pin.ts'

/**
 * The parts that a run began with, as its row names them. Runs that begin with the same parts share the copy in the
 * first run's row, so that a run of an unchanged agent writes none.
 */
export interface RunPin {
  /** sha-256 of it as JSON. */
  readonly hash: string
  /** The place of the run that keeps it. */
  readonly at: number
  /**
   * Only in the row of the run that stores it. Removed once a newer pin exists and no unfinished run needs this one.
   */
  readonly agent?: PinnedAgent
  /** Places of runs that store an older copy, since an unfinished run may still need it. */
  readonly older?: readonly number[]
}

/** The parts that a run began with, in its row. */
export interface BegunWith {
  /** Absent until the run's first write. */
  readonly pin?: RunPin
  /** The texts that hooks added to its first model call; absent if none. */
  readonly added?: readonly AddedText[]
  /** Memories for its agent. They come before the task. */
  readonly recalled?: Message
  /** The persona of its agent. Without a hash there was no persona of this name. */
  readonly persona?: { readonly name: string; readonly hash?: string }
  /** Its message goes to the handoff agent of its beginning, while that handoff lasts. */
  readonly passedOn?: PassedOn
  /** Tells its agent about the handoff that ended before it. Comes before the task. */
  readonly handedBack?: { readonly floor: string; readonly message: Message }
}

export interface PassedOn extends FloorTicket {
  readonly holder: string
  /** The parameter of the handoff agent that takes the message. */
  readonly input: string
}

/** The messages at a run's beginning: memories, the end of a handoff, then the task. */
export const saidAtBeginning = ({
  recalled,
  handedBack,
  submission: { messages },
}: BegunWith & { readonly submission: Pick<Submission, 'messages'> }): readonly Message[] => {
  const before = [...(recalled ? [recalled] : []), ...(handedBack ? [handedBack.message] : [])]
  return before.length > 0 ? [...before, ...messages] : messages
}
