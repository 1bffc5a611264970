import type { EventDraft } from '#contracts/event.ts'
import type { CallRecord } from './types/journal.ts'
import type { Amount } from '#contracts/lease.ts'
import { settles, type PauseAnswer } from './types/pause.ts'
import type { ToolStep } from './types/plan.ts'
import { leaseFor } from './leases/share.ts'
import { finishedEvent, startedEvent } from './call-events.ts'
import { argsHashOf, failure, type GatedCall, type TurnScope } from './call.ts'

/** One call of a turn in this segment. */
export interface PendingCall {
  readonly index: number
  readonly record: CallRecord
  readonly state: GatedCall
  /** `tool_finished`, until the calls before it are reported. */
  readonly ending: EventDraft[]
  /** The call has its outcome; events that it emits later are dropped. */
  hasEnded: boolean
}

/** The record of a call that a plan asks for. */
export function intentOf(step: ToolStep, scope: TurnScope): CallRecord {
  const entry = scope.toolset.resolve(step.toolId, step.input)?.entry
  return {
    id: step.callId,
    name: step.toolId,
    tool: entry?.tool.name ?? step.toolId,
    input: step.input,
    definitionHash: entry?.definitionHash ?? '',
    isRepeatable: !entry || entry.isReadOnly || entry.isIdempotent,
    startedAtMs: scope.parts.clock.nowMs(),
  }
}

/** A call that begins: without its settled pause, and with its reservation, since a crash may cut it from here on. */
export function begun({ pause: _over, ...call }: CallRecord, scope: TurnScope): CallRecord {
  const entry = entryOf(call, scope)
  return entry?.spends ? { ...call, reserved: leaseFor(entry, scope.share).amount } : call
}

type Tell = (event: EventDraft) => void

export interface Opening extends Pick<PendingCall, 'index' | 'record'> {
  readonly isResumed: boolean
  /** The record has its `tool_finished`. */
  readonly isReported: boolean
}

/** Opens a call for this segment. @param tell Takes every event of the call but its end, at once. */
export function openCall(opening: Opening, scope: TurnScope, tell: Tell): PendingCall {
  const { record, index, isResumed, isReported } = opening
  const { pause } = record
  // A limit refused the call, and was raised or stays.
  const isHeld = pause?.kind === 'budget'
  const given = pause && !isHeld && !record.outcome ? scope.answerTo(record.id) : undefined
  const answer = given && settles(pause!, given) ? given : undefined
  const runsAgain = isHeld || (answer !== undefined && answer.kind !== 'outcome')
  const isOpen = pause ? (isHeld ? !record.outcome : answer !== undefined) : !record.outcome
  const wasCut = isResumed && !pause && isOpen && !record.isRepeatable
  const cut: Partial<Amount> = record.reserved ?? { toolCalls: 1 }
  if (wasCut) scope.ledger.charge(cut)
  if (answer) tell(answeredOf(record, answer))
  const keeps = pause && !record.outcome && !runsAgain
  const held = keeps && record.reserved ? hold(record.reserved, scope) : {}
  // Finished before the crash, while a call before it was open.
  const ending: EventDraft[] =
    isResumed && record.outcome && !isReported ? [finishedOf(record, scope)] : []
  const state: GatedCall = {
    id: record.id,
    name: record.name,
    input: record.input,
    emit(event) {
      if (event.type === 'tool_finished' && event.data.call === record.id) ending.push(event)
      else if (!call.hasEnded) tell(event)
    },
    hasRun: false,
    startedAtMs: scope.parts.clock.nowMs(),
    ...(answer?.kind === 'outcome' && {
      result: answer.result,
      ...held,
      entry: entryOf(record, scope),
    }),
    ...(wasCut && { cut, result: unknownOutcome }),
  }
  const call: PendingCall = { index, record, state, ending, hasEnded: !isOpen || !!record.outcome }
  return call
}

const unknownOutcome = failure(
  'tool_outcome_unknown',
  'The call was interrupted and may or may not have taken effect. It was not repeated.',
)

function answeredOf({ id, tool, pause }: CallRecord, answer: PauseAnswer): EventDraft {
  const failed =
    answer.kind === 'outcome' && !answer.result.ok ? answer.result.error.code : undefined
  const { kind, argsHash } = pause!
  const isLeave = kind === 'approval' && answer.kind === 'approved'
  const answered = failed ?? (isLeave ? 'approved' : 'answered')
  const { by, decidedBy, scope, rule } = answer
  return {
    type: 'pause_answered',
    data: { call: id, tool, kind, argsHash, answer: answered, by, decidedBy, scope, rule },
  }
}

/** A waiting call keeps its part of the run's lease; its answer settles it. */
function hold(amount: Amount, { ledger }: TurnScope): Pick<GatedCall, 'lease' | 'hasRun'> {
  const reservation = ledger.reserve(amount)
  if (reservation.ok) return { lease: reservation.lease, hasRun: true }
  ledger.charge(amount) // the limits were lowered after the call had its part
  return { lease: { id: 'held', amount }, hasRun: true }
}

export const entryOf = ({ name, input }: CallRecord, { toolset }: TurnScope) =>
  toolset.resolve(name, input)?.entry

export const startedOf = (record: CallRecord, scope: TurnScope) =>
  startedEvent({
    ...record,
    argsHash: argsHashOf(record.input, scope),
    record: entryOf(record, scope)?.record,
  })

const finishedOf = (call: CallRecord, scope: TurnScope) => {
  const { outcome: result, durationMs = 0 } = call
  return finishedEvent({ ...call, result, durationMs, record: entryOf(call, scope)?.record })
}

/** The record of a call that is over or parked. */
export function settledRecord({ record, state }: PendingCall, scope: TurnScope): CallRecord {
  const { parts } = scope
  const tool = state.entry?.tool.name ?? record.tool
  // A call that did not begin has no part of the lease.
  const keeps = state.hasRun && (state.entry?.spends || state.pause)
  const base = { ...record, tool, ...(keeps && state.lease && { reserved: state.lease.amount }) }
  if (state.pause) {
    const { id: call } = record
    const { input } = state
    const about = {
      argsHash: argsHashOf(input, scope),
      definitionHash: state.entry?.definitionHash ?? '',
      sinceMs: parts.clock.nowMs(),
    }
    return { ...base, pause: { ...state.pause, call, tool, input, ...about } }
  }
  return {
    ...base,
    argsHash: argsHashOf(state.input, scope),
    outcome: state.result ?? failure('tool_failed', 'The call left no result.'),
    durationMs: Math.max(0, parts.clock.nowMs() - state.startedAtMs),
  }
}
