import { IsolaError } from '#contracts/errors.ts'

/** Characters of text and arguments together. */
export const maxReplyChars = 4 * 1024 * 1024
/** Characters of one call's arguments. */
export const maxArgumentsChars = 1024 * 1024
export const maxCalls = 1_000
/** The most parts of a content that is a list. */
export const maxParts = 10_000
/** Characters of what a service wants back of one reply, as JSON: kept in the row of its turn. */
export const maxOpaqueChars = 300_000
/** The most characters of ids and names that a server makes up. */
export const maxNameChars = 256
const MiB = 1024 * 1024
/** A token is a few hundred bytes of stream, so this is far above any reply that fits `maxReplyChars`. */
export const maxReplyBytes = 64 * MiB
/** The most bytes that are in memory before they can be parsed: one event of a stream, comments before it included. */
export const maxEventBytes = 2 * MiB
/** The same for a reply in one piece. */
export const maxBodyBytes = 8 * MiB

export function tooLarge(what: string): IsolaError {
  return new IsolaError('model_invalid_reply', `The model service sent more than ${what}.`)
}

/** A reply of more bytes than its limit. */
export const tooManyBytes = (maxBytes: number): IsolaError =>
  tooLarge(`${maxBytes / MiB} MiB ${maxBytes === maxReplyBytes ? 'in one reply' : 'at once'}`)

/** Counts what a piece of a reply weighs, which may never end (A7). The whole is counted where it comes in. */
export interface ByteMeter {
  /** Throws `model_invalid_reply` past a limit. */
  readonly add: (sizeBytes: number) => void
  /** The bytes so far have been taken as a piece. */
  readonly endPiece: () => void
}

export function createByteMeter(maxPieceBytes: number): ByteMeter {
  let piece = 0
  return {
    add(sizeBytes) {
      piece += sizeBytes
      if (piece > maxPieceBytes) throw tooManyBytes(maxPieceBytes)
    },
    endPiece() {
      piece = 0
    },
  }
}
