import type { AgentResult } from '#contracts/agent.ts'
import {
  type Floor,
  type FloorEnding,
  floorChangeOf,
  wordsOf,
  monitorReclaims,
} from '../types/floor.ts'
import type { FloorTerms } from '#contracts/floor.ts'
import type { EventDraft, SessionEvent } from '#contracts/event.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import { joinLabels, labelOfResult, ownLabel } from '#contracts/label.ts'
import { unlimited } from '#contracts/lease.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { isSpent } from './message-router.ts'

/** Failed answers in a row after which the handoff ends. */
const maxFailures = 2
/** The most that a plugin may ask for. */
const most = { messages: 1_000, tokens: 10_000_000, timeoutMs: 604_800_000 }

/** The end of a run, as far as a handoff is concerned. */
export interface EndedRun {
  readonly run: string
  /** The handoff in which its message was passed on. */
  readonly floor?: string | undefined
  /** The handoff whose end the run's agent has read. */
  readonly noted?: string | undefined
  readonly mayHandOff: boolean
  /** Calls of earlier turns that took the conversation or gave it back: a message arrived after them. */
  readonly earlier?: TurnRecord['calls']
  /** Its last turn. */
  readonly turn: Pick<TurnRecord, 'calls' | 'steps'>
  readonly final: Pick<AgentResult, 'state' | 'usage'>
  readonly nowMs: number
}

/** The handoff after the end of a run, and the events of the change. */
interface FloorSettled {
  readonly floor: Floor
  readonly events: readonly EventDraft<'floor_taken' | 'floor_ended'>[]
}

/**
 * Changes the handoff at the end of a run: it begins, its lease is settled, or it ends. The change is written with the
 * run's last turn, so it happens once. `undefined` if the run changes nothing.
 */
export function settleFloor(floor: Floor | undefined, ended: EndedRun): FloorSettled | undefined {
  const settled = floor && ended.floor === floor.id ? afterMessage(floor, ended) : floor
  const owed = settled?.end && !settled.isTold ? [endedEvent(settled)] : []
  const taken = settled && !settled.end ? undefined : takenBy(ended)
  if (taken) return { floor: taken, events: [...owed, tookEvent(taken)] }
  if (!settled) return undefined
  const isNoted = settled.end && ended.noted === settled.id
  if (settled === floor && !isNoted && owed.length === 0) return undefined
  return {
    floor: {
      ...settled,
      ...(owed.length > 0 && { isTold: true }),
      ...(isNoted && { isNoted: true }),
    },
    events: owed,
  }
}

/** The handoff with its end. The first end stands. */
export const ended = (floor: Floor, end: NonNullable<Floor['end']>): Floor =>
  floor.end ? floor : { ...floor, end }

function afterMessage(floor: Floor, { earlier = [], turn, final, nowMs }: EndedRun): Floor {
  const last = turn.calls.at(-1)?.outcome
  const hasReturned = ({ outcome }: TurnRecord['calls'][number]) => isReturn(outcome)
  // A call after the return does not change the return.
  const outcome = earlier.find(hasReturned)?.outcome ?? last
  const hasFailed = outcome?.ok === false && final.state !== 'cancelled'
  const spent: Floor = {
    ...floor,
    messages: floor.messages + 1,
    tokens: floor.tokens + final.usage.tokens,
    costNanoUsd: floor.costNanoUsd + final.usage.costNanoUsd,
    failures: hasFailed ? floor.failures + 1 : 0,
    untilMs: nowMs + floor.terms.timeoutMs,
    label: joinLabels([
      floor.label,
      ...[outcome, last].map((one) => (one ? labelOfResult(one) : ownLabel)),
    ]),
  }
  const change = floorChangeOf(outcome)
  const back = change && 'return' in change ? change.return : undefined
  const reason = reasonFor(spent, { isBack: back !== undefined, turn, outcome })
  return reason
    ? ended(spent, { reason, atMs: nowMs, ...(back && summaryOf(back, outcome)) })
    : spent
}

const isReturn = (outcome: ToolResult | undefined): boolean => {
  const change = floorChangeOf(outcome)
  return change !== undefined && 'return' in change
}

const summaryOf = (back: { readonly summary: string }, outcome: ToolResult | undefined) =>
  outcome?.aside
    ? { summary: wordsOf(outcome.aside.output), label: outcome.aside.label }
    : { summary: back.summary }

function reasonFor(
  floor: Floor,
  of: Pick<EndedRun, 'turn'> & {
    readonly isBack: boolean
    readonly outcome: TurnRecord['calls'][number]['outcome']
  },
): FloorEnding | undefined {
  const { isBack, turn, outcome } = of
  if (isBack) return 'returned'
  if (turn.steps.some(monitorReclaims)) return 'monitor'
  const isOut = outcome?.ok === false && outcome.error.code.startsWith('lease_')
  if (isSpent(floor) || isOut) return 'limit'
  return floor.failures >= maxFailures ? 'failed' : undefined
}

/** The handoff that the first taking call of a completed run begins. */
function takenBy({
  run,
  mayHandOff,
  earlier = [],
  turn,
  final,
  nowMs,
}: EndedRun): Floor | undefined {
  if (!mayHandOff || final.state !== 'completed') return undefined
  for (const { id: call, tool: holder, outcome } of [...earlier, ...turn.calls]) {
    const change = floorChangeOf(outcome)
    if (!outcome || !change || !('take' in change)) continue
    const terms = bounded(change.take)
    const none = { messages: 0, tokens: 0, costNanoUsd: 0, failures: 0 }
    const times = { sinceMs: nowMs, untilMs: nowMs + terms.timeoutMs }
    return {
      id: run,
      holder,
      call,
      terms,
      ...times,
      ...none,
      label: joinLabels([labelOfResult(outcome)]),
    }
  }
  return undefined
}

const bounded = (terms: FloorTerms): FloorTerms => ({
  ...terms,
  maxMessages: Math.min(terms.maxMessages, most.messages),
  maxTokens: Math.min(terms.maxTokens, most.tokens),
  timeoutMs: Math.min(terms.timeoutMs, most.timeoutMs),
})

const tookEvent = ({ id: floor, holder, terms }: Floor): EventDraft<'floor_taken'> => ({
  type: 'floor_taken',
  data: {
    floor,
    holder,
    maxMessages: terms.maxMessages,
    maxTokens: terms.maxTokens,
    ...(terms.maxCostNanoUsd < unlimited && { maxCostNanoUsd: terms.maxCostNanoUsd }),
    timeoutMs: terms.timeoutMs,
  },
})

function endedEvent({ id: floor, holder, messages, tokens, costNanoUsd, end }: Floor) {
  const { reason = 'returned', by } = end ?? {}
  const data = { floor, holder, reason, messages, tokens, costNanoUsd, ...(by && { by }) }
  return { type: 'floor_ended', data } as const
}

/** Puts events before the last one of a run, which stays its last. */
export function beforeLast(
  events: readonly SessionEvent[],
  more: readonly EventDraft[],
  nextSeq: () => number,
): readonly SessionEvent[] {
  const last = events.at(-1)
  if (!last || more.length === 0) return events
  const seqs = [last.seq, ...more.map(nextSeq)]
  const { run, agent, trace, atMs } = last
  const added = more.map((event, index) => ({
    ...event,
    seq: seqs[index]!,
    run,
    agent,
    trace,
    atMs,
  }))
  return [...events.slice(0, -1), ...added, { ...last, seq: seqs.at(-1)! }]
}
