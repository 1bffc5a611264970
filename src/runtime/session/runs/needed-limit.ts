import type { EventData } from '#contracts/event.ts'
import { heldBy, type TurnRecord } from '#runtime/kernel/types/journal.ts'
import { callAfter, unlimited, type LeaseRefusal } from '#contracts/lease.ts'
import type { Spending } from '../log/limit-text.ts'

export interface NeededOptions {
  readonly code: string
  /** What is booked under that limit; absent for one that is not spent. */
  readonly key: Spending | undefined
  readonly spent: number
  readonly allowed: number
  /** The output cap of the agent's model calls, if it has one of its own. */
  readonly maxOutputTokens?: number | undefined
  /** What is reserved of the platform for a turn. */
  readonly turnNanoUsd?: number | undefined
}

type Refused = EventData<'lease_refused'>

/** A model call that is begun should have the time to end: it is booked in full if it is cut. */
const leastMs = 10_000

/**
 * The least limit with which the step that a run was refused may begin: what is spent, what waiting calls hold, and
 * what that step asked for. That is known of a model call and of a plain tool's call (`lease_refused` has it), of a turn
 * (one, and what is reserved of the platform for it) and of a level. It is a guess of time, and of a call that itself
 * spends: it got no share, since its caller keeps back one call of its own; it is taken to need one more of the same.
 */
export function neededIn(turns: readonly TurnRecord[], options: NeededOptions): number {
  const { code, key, spent, allowed } = options
  const last = turns.at(-1)
  const { calls = [], events = [] } = last ?? {}
  if (!key) return allowed + 1
  if (key === 'timeMs') {
    const longest = Math.max(leastMs, ...turns.map(({ usage }) => usage.timeMs))
    return Math.min(spent + longest, unlimited)
  }
  const from = events.findLastIndex(({ type }) => type === 'run_parked')
  const refused = events
    .slice(from + 1)
    .flatMap((event) =>
      event.type === 'lease_refused' && event.data.code === code ? [event.data] : [],
    )
  // Calls that a call's code makes are refused to that code: nothing waits for them.
  const ofCalls = refused.filter(({ call }) => calls.some(({ id }) => id === call))
  // Summaries are asked for too, and done without: what ends a turn is its last request.
  const ofModel = refused.findLast(({ call }) => call === undefined)
  const booked = spent + (heldBy(calls)[key] ?? 0)
  if (ofCalls.length > 0)
    return Math.min(booked + Math.max(askedBy(ofCalls, last!, options), 1), unlimited)
  const { asked = 1, left = 0 } = ofModel ?? {}
  // What the ledger had booked then, where it was not beyond the limit.
  const taken = left > 0 ? allowed - left : 0
  return Math.min(Math.max(booked, taken) + Math.max(asked, 1), unlimited)
}

/** What the calls of a turn ask for together; those that got no share share alike, whether they are over or not. */
function askedBy(
  refused: readonly Refused[],
  { steps, modelCalls }: TurnRecord,
  { code, maxOutputTokens, turnNanoUsd = 0 }: NeededOptions,
): number {
  const own = refused.reduce((sum, { asked = 0 }) => sum + asked, 0)
  if (refused.every(({ asked }) => asked !== undefined)) return own
  const calls = steps.filter(({ type }) => type === 'tool').length
  const { tokens, costNanoUsd } = callAfter(modelCalls.at(-1), maxOutputTokens)
  const shares: Partial<Record<LeaseRefusal['code'], number>> = {
    lease_tokens: (calls + 1) * Math.max(tokens, 1),
    lease_cost: (calls + 1) * Math.max(costNanoUsd, 1),
    lease_turns: calls + 1,
    // Each itself, and one that it makes.
    lease_tool_calls: 2 * calls,
    lease_platform: (calls + 1) * Math.max(turnNanoUsd, 1),
  }
  return Math.max(own, shares[code as LeaseRefusal['code']] ?? 1) // a code of no share needs one more
}
