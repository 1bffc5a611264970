/**
 * `sequence_number` says where in the response an event is, not how many came before: pieces of text are not stored,
 * and a reader that comes back gets the rest of a message in other pieces. Per turn: item and part added, each
 * character of the text, then what is done, then the calls.
 */
const turnSpan = 4_000_000
const callSpan = 4

/** Where in its turn an event of a message stands. */
export const offsets = {
  itemAdded: 0,
  partAdded: 1,
  textBegins: 2,
  textDone: 3_000_000,
  partDone: 3_000_001,
  itemDone: 3_000_002,
} as const
const callsBegin = 3_000_010

/** The `sequence_number` of an event of a message. */
export const numberAt = (turn: number, offset: number): number => turn * turnSpan + offset

/** That of the first event of a call; a call has four. */
export const numberOfCall = (turn: number, index: number): number =>
  numberAt(turn, callsBegin + callSpan * index)

/** That of the event that ends a response whose last turn this is. */
export const numberOfEnd = (lastTurn: number): number => numberAt(lastTurn + 2, 0) - 1

/** An event as text, or nothing if the reader has it already. */
export type Emit = (type: string, number: number, fields: object) => string

/** Writes the events after a `sequence_number`. */
export const createEmit =
  (after: number): Emit =>
  (type, number, fields) =>
    number <= after
      ? ''
      : `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`
