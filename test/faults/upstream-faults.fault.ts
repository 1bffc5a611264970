import type { ModelErrorCode } from '#contracts/errors.ts'
import { chunk, done, usage, type Answer, type Piece } from './upstream-faults.wire.ts'

/** One thing that an upstream may do to us, and what has to become of it. */
export interface Fault {
  readonly name: string
  readonly answers: readonly Answer[]
  /** The class of the failure; nothing if the run survives. */
  readonly code?: ModelErrorCode
  readonly requests: number
  /** Requests that may have been billed without a count: each is booked in full. Default 0. */
  readonly lost?: number
  /** Virtual milliseconds the run takes; default 0. */
  readonly elapsedMs?: number
  /** Text its reader saw that was not kept. */
  readonly partial?: string
  /** Inputs the tool really ran with. Default none. */
  readonly noted?: readonly unknown[]
  /** Of the tool errors the model was told. */
  readonly told?: readonly string[]
  /** The answer of the run. Default `all well`. */
  readonly text?: string
  /** Tokens of replies, as booked; unset where they are estimates. */
  readonly counted?: number
  /** No client streams the run: the reply is asked for in one piece. */
  readonly isUnwatched?: boolean
}

export const thrice = (answer: Answer): Answer[] => [answer, answer, answer]
export const text = (content: string): string => chunk({ content })
export const rest = chunk({}, 'stop') + usage() + done
export const MiB = 1024 * 1024

/** Virtual silence until it is noticed: between one and one and a quarter times 30 s. */
export const idleMs = 37_500

export const html = { 'content-type': 'text/html' }
export const invalid = 'tool_invalid_input'

export function* forever(piece: Piece): Generator<Piece> {
  for (;;) yield piece
}

export function* forEach(count: number, make: (index: number) => Piece): Generator<Piece> {
  for (let index = 0; index < count; index += 1) yield make(index)
}

/** A piece every five seconds, for two minutes. */
export function drip(piece: string): Piece[] {
  return Array.from({ length: 24 }, () => [5_000, piece] as const).flat()
}
