import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'

/** The longest stretch of calls that is looked for. */
const maxPeriod = 8

/** A stretch of calls that came again and again, each time with the same arguments and the same results. */
export interface Loop {
  /** The tools of one round, in order. */
  readonly calls: readonly string[]
  readonly rounds: number
}

/**
 * Whether the last calls of a run are the same stretch, of one call or several, `rounds` times in a row: nothing new
 * came of them, and nothing new will. Calls beside each other in one turn count like those of turns one after the
 * other: who asks for the same five times at once goes round in circles as well.
 *
 * @param rounds 0 looks for nothing.
 */
export function loopIn(turns: readonly TurnRecord[], rounds: number): Loop | undefined {
  if (rounds < 1) return undefined
  const marks: string[] = []
  const tools: string[] = []
  // From the end: no more of a long run is read than a loop can be long.
  for (let at = turns.length - 1; at >= 0 && marks.length < maxPeriod * rounds; at -= 1) {
    const { calls, received = [] } = turns[at]!
    for (const call of calls.toReversed()) {
      marks.push(markOf(call))
      tools.push(call.tool)
    }
    // What somebody said is new.
    if (received.length > 0) break
  }
  for (let period = 1; period * rounds <= marks.length; period += 1) {
    const last = marks.slice(0, period * rounds)
    if (last.every((mark, index) => mark === last[index % period]))
      return { calls: tools.slice(0, period).toReversed(), rounds }
  }
  return undefined
}

const markOf = ({ tool, input, outcome }: CallRecord): string =>
  JSON.stringify([tool, input, outcome?.ok ? outcome.output : outcome?.error])
