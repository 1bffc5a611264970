import type { EventDraft } from '#contracts/event.ts'
import type { CallRecord, TurnRecord } from '#runtime/kernel/types/journal.ts'
import { unlimited, type Limits } from '#contracts/lease.ts'
import { dimensions } from '../log/limit-text.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { turnOfPause } from './limit-pause.ts'
import type { RunEnding } from '#runtime/kernel/types/agent-result.ts'

const defaultRounds = 5

interface ReviewOptions {
  readonly limits: Limits
  /** How often in a row the same calls with the same results are a loop; 0 turns the check off. */
  readonly rounds: number | undefined
  readonly row: RunRow
}

/** Looks at a run before its next turn: which warnings to emit, and whether the run ends because of a loop. */
export function review(
  turns: readonly TurnRecord[],
  { limits, rounds = defaultRounds, row }: ReviewOptions,
): { readonly tell: readonly EventDraft[]; readonly end?: RunEnding | undefined } {
  const warnings = warningsIn(turns, limits)
  const from = allowedUpTo(row)
  const loop = loopIn(
    turns.filter(({ turn }) => turn > from),
    rounds,
  )
  if (!loop) return { tell: warnings }
  const isTold = turns.at(-1)?.events.some(({ type }) => type === 'loop_suspected')
  const told = isTold ? [] : [{ type: 'loop_suspected' as const, data: loop }]
  const message = `${loop.calls.join(', ')} came ${loop.rounds} times in a row with the same arguments and results.`
  return {
    tell: [...warnings, ...told],
    end: { state: 'stopped', code: 'loop_suspected', message },
  }
}

/** The last turn at which a caller approved that the run goes on as it does. */
const allowedUpTo = ({ answers = {} }: RunRow): number =>
  Math.max(
    0,
    ...Object.entries(answers).map(([call, { kind }]) =>
      kind === 'approved' ? turnOfPause(call) : 0,
    ),
  )

/** At this part of a limit the run emits a warning. */
const soft = 0.8

/** A warning for each limit of which four fifths are spent, unless the run has it already. */
function warningsIn(turns: readonly TurnRecord[], limits: Limits) {
  const said = new Set(
    turns
      .flatMap(({ events }) => events)
      .flatMap((event) =>
        event.type === 'budget_warning' ? [`${event.data.limit} ${event.data.allowed}`] : [],
      ),
  )
  return Object.values(dimensions).flatMap(({ limit, key }) => {
    const allowed = limits[limit] ?? unlimited
    if (!key || allowed >= unlimited || allowed === 0 || said.has(`${limit} ${allowed}`)) return []
    const spent = turns.reduce((sum, { usage }) => sum + (usage[key] ?? 0), 0)
    return spent >= allowed * soft
      ? [{ type: 'budget_warning' as const, data: { limit, allowed, spent } }]
      : []
  })
}

/** The most calls in one round of a loop. */
const maxPeriod = 8

/** A round of calls that the run repeated, each time with the same arguments and the same results. */
interface Loop {
  /** The tools of one round, in order. */
  readonly calls: readonly string[]
  readonly rounds: number
}

/**
 * Finds whether the last calls of a run are the same round, of one call or several, `rounds` times in a row. Calls of
 * one turn count like calls of turns one after the other: a model that asks for the same five times at once is in a
 * loop as well.
 *
 * @param rounds 0 finds no loop.
 */
export function loopIn(turns: readonly TurnRecord[], rounds: number): Loop | undefined {
  if (rounds < 1) return undefined
  const marks: string[] = []
  const tools: string[] = []
  // From the end: of a long run only as many calls are read as a loop can have.
  for (let at = turns.length - 1; at >= 0 && marks.length < maxPeriod * rounds; at -= 1) {
    const { calls, received = [] } = turns[at]!
    for (const call of calls.toReversed()) {
      marks.push(markOf(call))
      tools.push(call.tool)
    }
    // A message to the run breaks the loop.
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
