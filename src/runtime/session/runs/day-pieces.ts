import { unlimited } from '#contracts/lease.ts'
import type { DayAmount, DayPiece, HeldPieces } from '../types/principal.ts'
import type { PieceAnswer, RunSpending } from '../types/submission.ts'
import type { Todo } from '../storage/todo.ts'

/** The question of a run that begins, as it would go to the day's ledger. */
export interface PieceNeed {
  readonly run: string
  readonly asked: DayAmount
  readonly limits: DayAmount
  /** The day by the session's clock. */
  readonly day: string
}

export const noPieces: HeldPieces = { taken: {} }

/**
 * Takes the free piece for a run, if the ledger would have given the run no less and the limits are the same.
 * `undefined`: the ledger is to be asked.
 */
export function takePiece(
  { free, taken }: HeldPieces,
  { run, asked, limits, day }: PieceNeed,
): { readonly held: HeldPieces; readonly amount: DayAmount } | undefined {
  if (!free || free.day !== day || !isSame(free.limits, limits)) return undefined
  const fits = (name: keyof DayAmount) =>
    limits[name] >= unlimited ||
    asked[name] <= free.amount[name] ||
    asked[name] === free.asked[name]
  if (!fits('tokens') || !fits('costNanoUsd')) return undefined
  const part = (name: keyof DayAmount) =>
    limits[name] >= unlimited ? asked[name] : Math.min(asked[name], free.amount[name])
  return {
    held: { taken: { ...taken, [free.id]: run } },
    amount: { tokens: part('tokens'), costNanoUsd: part('costNanoUsd') },
  }
}

/**
 * The ledger calls a piece back: a free one goes, a taken one stays with what its run has spent. A piece that is not
 * held is given back as well: its reply was lost, or it was settled.
 *
 * @param spentBy The run of a taken piece; `unknown` if it never began.
 */
export function givePieceBack(
  { free, taken }: HeldPieces,
  piece: string,
  spentBy: (run: string) => RunSpending,
): { readonly held: HeldPieces; readonly answer: PieceAnswer } {
  const run = taken[piece]
  if (run === undefined)
    return { held: free && free.id !== piece ? { free, taken } : { taken }, answer: {} }
  const spending = spentBy(run)
  if (spending.state === 'unknown')
    return { held: withoutTaken({ ...(free && { free }), taken }, piece), answer: {} }
  return { held: { ...(free && { free }), taken }, answer: { run, spending } }
}

/** The ledger has acknowledged the settlement of the piece's run. */
export function withoutTaken(held: HeldPieces, piece: string): HeldPieces {
  const { [piece]: _settled, ...taken } = held.taken
  return { ...held, taken }
}

const isSame = (a: DayAmount, b: DayAmount) =>
  a.tokens === b.tokens && a.costNanoUsd === b.costNanoUsd

/** The pieces of the principal's day that this session holds. Synchronous: each verb is one step. */
export type DayPieces = ReturnType<typeof createDayPieces>

/**
 * Keeps them in the session's storage. What it asks for and did not get yet is in memory alone, as the reply is: if
 * the object ends, no reply arrives. A piece that was called back while its reply was under way is not accepted.
 */
export function createDayPieces(todo: Pick<Todo, 'pieces' | 'setPieces'>) {
  let asking: string | undefined
  let last: Pick<PieceNeed, 'run' | 'asked'> | undefined
  /** The newest run that works without a piece: nothing is read for it. */
  let bare: string | undefined
  const write = (before: HeldPieces, held: HeldPieces) => {
    if (before.free !== held.free || before.taken !== held.taken) todo.setPieces(held)
  }
  return {
    /** The reservation of a run that begins, from the free piece. Durable before anything leaves this object. */
    take(need: PieceNeed): DayAmount | undefined {
      last = need
      bare = undefined
      const held = todo.pieces()
      const taken = takePiece(held, need)
      if (taken) write(held, taken.held)
      return taken?.amount
    },
    /** Lets go of the free piece, for a request that gives it back. */
    drop(): string | undefined {
      const held = todo.pieces()
      if (held.free) write(held, { taken: held.taken })
      return held.free?.id
    },
    /** A run begins whose principal has no limit of the day. */
    without: (run: string): void => void (bare = run),
    of: (run: string): string | undefined =>
      run === bare
        ? undefined
        : Object.entries(todo.pieces().taken).find(([, one]) => one === run)?.[0],
    /** What the settlement of a run asks for, as this run asked; `undefined` if the session holds or asks for one. */
    next(run: string): Pick<DayPiece, 'id' | 'asked'> | undefined {
      if (last?.run !== run || asking !== undefined || todo.pieces().free) return undefined
      asking = `next:${run}`
      return { id: asking, asked: last.asked }
    },
    /** The ledger's answer, or that there is none. */
    answered(id: string, piece: DayPiece | undefined): void {
      if (asking !== id) return
      asking = undefined
      if (piece) todo.setPieces({ ...todo.pieces(), free: piece })
    },
    settled(piece: string): void {
      const held = todo.pieces()
      if (held.taken[piece] !== undefined) write(held, withoutTaken(held, piece))
    },
    giveBack(piece: string, spentBy: (run: string) => RunSpending): PieceAnswer {
      if (asking === piece) asking = undefined
      const before = todo.pieces()
      const { held, answer } = givePieceBack(before, piece, spentBy)
      write(before, held)
      return answer
    },
  }
}
