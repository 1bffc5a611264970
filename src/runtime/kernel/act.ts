import { callOf, type EventDraft } from '#contracts/event.ts'
import { finishedEvent, startedEvent } from './call-events.ts'
import type { CallRecord } from './types/journal.ts'
import { addUsage, type Amount } from '#contracts/lease.ts'
import type { ActionResult, PlanStep, ToolExecutor, ToolStep } from './types/plan.ts'
import { settles, type PauseAnswer } from './types/pause.ts'
import { argsHashOf, failure, spentUsage, type CallState, type TurnScope } from './call.ts'
import { leaseFor } from './leases/share.ts'
import type { Deadlines } from './deadlines.ts'
import { passGates } from './pipeline.ts'
import type { Stamp, TurnDraft } from './turn.ts'

/** A turn that takes longer than this is written as it stands, so that a crash repeats nothing that is finished. */
const checkpointMs = 200

export interface ActPorts {
  readonly scope: TurnScope
  readonly stamp: Stamp
  /** Writes the turn as it stands. */
  readonly checkpoint: () => void
  readonly sync: () => Promise<void>
  readonly executor: ToolExecutor
  readonly maxConcurrency: number
}

/**
 * Runs a turn's calls side by side and reports them in source order, whichever finishes first.
 *
 * An intent is durable before an effect that may not be repeated; a call that a crash cut is repeated only if it
 * is declared repeatable, else its outcome is `tool_outcome_unknown`. A call that waits for someone outside has no
 * outcome until there is an answer to it.
 * @returns The lease code that stops the run, if a call was refused one, and what the run waits for.
 */
export async function act(draft: TurnDraft, ports: ActPorts) {
  const { scope, stamp, maxConcurrency } = ports
  const isResumed = draft.calls.length > 0
  await scope.toolset.ready?.(draft.steps.filter(isToolStep))
  if (!isResumed) draft.calls = draft.steps.flatMap((step) => intentOf(step, scope))
  const tell = (event: EventDraft) => {
    draft.events.push(stamp(event))
    // A session that a call's code begins has no intent of its own: its record is written before it is asked for.
    if (event.type === 'agent_invoked' && !isOwnCall(event)) checkpoint()
  }
  const isOwnCall = (event: EventDraft) => draft.calls.some(({ id }) => id === callOf(event))
  const known = new Set(
    draft.events.flatMap((event) => (event.type === 'tool_finished' ? [event.data.call] : [])),
  )
  const states = draft.calls.map((record, index) =>
    stateOf({ record, index, isResumed, isReported: known.has(record.id) }, scope, tell),
  )
  if (!isResumed) draft.events.push(...states.map(({ record }) => stamp(startedOf(record, scope))))
  const pending = states.filter(({ hasEnded }) => !hasEnded)
  // What may not be repeated, and what may spend: a child that nobody remembers could not be charged or cancelled.
  const needsIntent = pending.some(
    ({ record, state }) =>
      !state.result &&
      (!isResumed || record.pause) &&
      (!record.isRepeatable || spendsOf(record, scope)),
  )
  if (needsIntent) {
    if (pending.some(({ record }) => spendsOf(record, scope))) draft.share = scope.share
    // From here on a call that was allowed has begun.
    draft.calls = draft.calls.map((call) => (isOpenIn(pending, call) ? begun(call, scope) : call))
    ports.checkpoint()
    await ports.sync()
  }

  let isWritten = isResumed || needsIntent
  let written = draft.events.length
  let reported = 0
  const checkpoint = () => {
    isWritten = true
    written = draft.events.length
    ports.checkpoint()
  }
  const finish = (entry: PendingCall) => {
    entry.hasEnded = true
    draft.calls[entry.index] = settledRecord(entry, scope)
    draft.usage = addUsage(draft.usage, spentUsage(entry.state))
    // Source order: what came of a call is told after what came of those before it.
    while (reported < states.length && draft.calls[reported]!.outcome) {
      draft.events.push(...states[reported]!.ending.splice(0).map(stamp))
      reported += 1
    }
    if (isWritten && draft.calls.some(({ outcome }) => !outcome)) checkpoint()
  }
  const pass = async ({ callId }: ToolStep): Promise<ActionResult> => {
    const entry = pending.find(({ record }) => record.id === callId)
    if (!entry) return { callId, toolId: '', result: failure('tool_not_found', 'No such call.') }
    entry.state.startedAtMs = scope.parts.clock.nowMs()
    await passGates(entry.state, scope)
    finish(entry)
    const { tool, outcome } = draft.calls[entry.index]!
    return { callId, toolId: tool, result: outcome ?? waiting }
  }
  const open = new Set(pending.map(({ record }) => record.id))
  const steps = draft.steps.filter(isToolStep).filter(({ callId }) => open.has(callId))
  const underWay = new Map<string, Promise<ActionResult>>()
  const passOnce = (step: ToolStep): Promise<ActionResult> => {
    const running = underWay.get(step.callId) ?? pass(step)
    underWay.set(step.callId, running)
    return running
  }
  const all = ports.executor
    .execute(steps, { maxConcurrency, signal: scope.signal, pass: passOnce })
    // Whatever an executor breaks off or leaves out has its one outcome too; what the journal could not take is a fault.
    .catch(() => {})
    .then(() => Promise.all(underWay.values()))
    .then(() => pending.forEach((entry) => entry.hasEnded || finish(entry)))
  await watch(all, scope.deadlines, () => {
    if (!isWritten || draft.events.length > written) checkpoint()
  })
  while (reported < states.length)
    draft.events.push(...states[reported++]!.ending.splice(0).map(stamp))
  return {
    refused: states.find(({ state }) => state.refused)?.state.refused,
    pauses: draft.calls.flatMap(({ pause, outcome }) => (pause && !outcome ? [pause] : [])),
  }
}

const waiting = failure('tool_pending', 'Waiting for someone outside.')

const isOpenIn = (pending: readonly PendingCall[], { id }: CallRecord): boolean =>
  pending.some(({ record, state }) => record.id === id && !state.result)

/** Without the pause that was over, and with what it may spend: a crash from here on may have cut it. */
function begun({ pause: _over, ...call }: CallRecord, scope: TurnScope): CallRecord {
  const entry = entryOf(call, scope)
  return entry?.spends ? { ...call, reserved: leaseFor(entry, scope.share).amount } : call
}

/** Waits for the calls; while they take long, asks every now and then whether there is something to write. */
async function watch(all: Promise<unknown>, deadlines: Deadlines, look: () => void): Promise<void> {
  let isOver = false
  const finished = all.finally(() => (isOver = true))
  while (!isOver) {
    let callOff = () => {}
    const pause = new Promise<void>((resolve) => {
      callOff = deadlines.after(checkpointMs, resolve)
    })
    await Promise.race([finished, pause])
    callOff()
    if (!isOver) look()
  }
  await finished
}

const isToolStep = (step: PlanStep): step is ToolStep => step.type === 'tool'

interface PendingCall {
  readonly index: number
  readonly record: CallRecord
  readonly state: CallState
  /** `tool_finished`, until its turn to be told has come. */
  readonly ending: EventDraft[]
  /** It has its outcome: what it says later is not heard. */
  hasEnded: boolean
}

function intentOf(step: PlanStep, scope: TurnScope): CallRecord[] {
  if (step.type !== 'tool') return []
  const resolved = scope.toolset.resolve(step.toolId, step.input)
  return [
    {
      id: step.callId,
      name: step.toolId,
      tool: resolved?.entry.tool.name ?? step.toolId,
      input: step.input,
      definitionHash: resolved?.entry.definitionHash ?? '',
      isRepeatable: !resolved || resolved.entry.isReadOnly || resolved.entry.isIdempotent,
      startedAtMs: scope.parts.clock.nowMs(),
    },
  ]
}

const spendsOf = (record: CallRecord, scope: TurnScope) => entryOf(record, scope)?.spends

type Opening = Pick<PendingCall, 'index' | 'record'> & { isResumed: boolean; isReported: boolean }

/** @param tell Takes all that a call says but its end: at once. */
function stateOf(
  { record, index, isResumed, isReported }: Opening,
  scope: TurnScope,
  tell: (event: EventDraft) => void,
): PendingCall {
  const { pause } = record
  // A limit held it back, and was raised or stays.
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
  // Finished before the crash, but its turn to speak had not come.
  const ending: EventDraft[] =
    isResumed && record.outcome && !isReported ? [finishedOf(record, scope)] : []
  const state: CallState = {
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
    ...(wasCut && {
      cut,
      result: failure(
        'tool_outcome_unknown',
        'The call was interrupted and may or may not have taken effect. It was not repeated.',
      ),
    }),
  }
  const call: PendingCall = { index, record, state, ending, hasEnded: !isOpen || !!record.outcome }
  return call
}

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

/** What a waiting call has of the run's lease stays taken; once it is answered, it is settled. */
function hold(amount: Amount, { ledger }: TurnScope): Pick<CallState, 'lease' | 'hasRun'> {
  const reservation = ledger.reserve(amount)
  if (reservation.ok) return { lease: reservation.lease, hasRun: true }
  ledger.charge(amount) // the limits were lowered meanwhile; it was given all the same
  return { lease: { id: 'held', amount }, hasRun: true }
}

const entryOf = ({ name, input }: CallRecord, { toolset }: TurnScope) =>
  toolset.resolve(name, input)?.entry

const startedOf = (record: CallRecord, scope: TurnScope) =>
  startedEvent({
    ...record,
    argsHash: argsHashOf(record.input, scope),
    record: entryOf(record, scope)?.record,
  })

const finishedOf = (call: CallRecord, scope: TurnScope) => {
  const { outcome: result, durationMs = 0 } = call
  return finishedEvent({ ...call, result, durationMs, record: entryOf(call, scope)?.record })
}

function settledRecord({ record, state }: PendingCall, scope: TurnScope): CallRecord {
  const { parts } = scope
  const tool = state.entry?.tool.name ?? record.tool
  // One that did not begin has nothing of its lease.
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
