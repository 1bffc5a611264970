import { callOf } from './types/event.ts'
import { type EventDraft } from '#contracts/event.ts'
import { addUsage } from '#contracts/lease.ts'
import type { ActionResult, PlanStep, ToolExecutor, ToolStep } from './types/plan.ts'
import { failure, spentUsage, type TurnScope } from './call.ts'
import type { Deadlines } from './deadlines.ts'
import type { PendingCall } from './open-call.ts'
import { begun, entryOf, intentOf, openCall, settledRecord, startedOf } from './open-call.ts'
import { passGates } from './pipeline.ts'
import type { Stamp, TurnDraft } from './turn.ts'

/** A turn that takes longer is written as it stands, so that a crash repeats no finished call. */
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

/** The calls of one turn while they are made. */
interface Acting {
  readonly draft: TurnDraft
  readonly ports: ActPorts
  readonly isResumed: boolean
  /** Every call of the turn, in source order. */
  readonly calls: readonly PendingCall[]
  /** The calls without an outcome when the turn was opened. */
  readonly pending: readonly PendingCall[]
  /** The turn has a row, so that a settled call is written at once. */
  isWritten: boolean
  /** The events of the turn that its row has. */
  written: number
  /** The number of calls, from the first, whose end was reported. */
  reported: number
}

/**
 * Runs a turn's calls side by side and reports them in source order, whichever finishes first.
 *
 * An intent is durable before an effect that may not be repeated; a call that a crash cut is repeated only if it
 * is declared repeatable, else its outcome is `tool_outcome_unknown`. A call that waits for an answer from outside
 * has no outcome until the answer is there.
 * @returns The lease code that stops the run, if a call was refused one, and the pauses of the run.
 */
export async function act(draft: TurnDraft, ports: ActPorts) {
  await ports.scope.toolset.ready?.(draft.steps.filter(isToolStep))
  const acting = openCalls(draft, ports)
  await writeIntent(acting)
  await passAll(acting)
  while (acting.reported < acting.calls.length) reportNext(acting)
  return {
    refused: acting.calls.find(({ state }) => state.refused)?.state.refused,
    pauses: draft.calls.flatMap(({ pause, outcome }) => (pause && !outcome ? [pause] : [])),
  }
}

/** Opens the calls of the plan, or the calls that an earlier segment left open. */
function openCalls(draft: TurnDraft, ports: ActPorts): Acting {
  const { scope, stamp } = ports
  const isResumed = draft.calls.length > 0
  const steps = draft.steps.filter(isToolStep)
  if (!isResumed) draft.calls = steps.map((step) => intentOf(step, scope))
  const isOwnCall = (event: EventDraft) => draft.calls.some(({ id }) => id === callOf(event))
  const tell = (event: EventDraft) => {
    draft.events.push(stamp(event))
    // A session that a call's code begins has no intent of its own: its record is written before it is asked for.
    if (event.type === 'agent_invoked' && !isOwnCall(event)) checkpoint(acting)
  }
  const known = new Set(
    draft.events.flatMap((event) => (event.type === 'tool_finished' ? [event.data.call] : [])),
  )
  const calls = draft.calls.map((record, index) =>
    openCall({ record, index, isResumed, isReported: known.has(record.id) }, scope, tell),
  )
  if (!isResumed) draft.events.push(...calls.map(({ record }) => stamp(startedOf(record, scope))))
  const pending = calls.filter(({ hasEnded }) => !hasEnded)
  const progress = { isWritten: isResumed, written: 0, reported: 0 }
  const acting: Acting = { draft, ports, isResumed, calls, pending, ...progress }
  return acting
}

/**
 * Makes the turn durable before a call that may not be repeated, or that may spend: a lost child could not be
 * charged.
 */
async function writeIntent(acting: Acting): Promise<void> {
  const { draft, ports, isResumed, pending } = acting
  const { scope } = ports
  const spends = ({ record }: PendingCall) => entryOf(record, scope)?.spends
  const isNeeded = pending.some(
    (call) =>
      !call.state.result &&
      (!isResumed || call.record.pause) &&
      (!call.record.isRepeatable || spends(call)),
  )
  if (isNeeded) {
    if (pending.some(spends)) draft.share = scope.share
    // From here on a call that was allowed has begun.
    for (const { index, state } of pending)
      if (!state.result) draft.calls[index] = begun(draft.calls[index]!, scope)
    ports.checkpoint()
    await ports.sync()
    acting.isWritten = true
  }
  acting.written = draft.events.length
}

/** Takes every open call through its gates; while that takes long, writes the turn now and then. */
async function passAll(acting: Acting): Promise<void> {
  const { draft, ports, pending } = acting
  const { scope, executor, maxConcurrency } = ports
  const open = new Set(pending.map(({ record }) => record.id))
  const steps = draft.steps.filter(isToolStep).filter(({ callId }) => open.has(callId))
  const underWay = new Map<string, Promise<ActionResult>>()
  const passOnce = (step: ToolStep): Promise<ActionResult> => {
    const running = underWay.get(step.callId) ?? pass(step, acting)
    underWay.set(step.callId, running)
    return running
  }
  const all = executor
    .execute(steps, { maxConcurrency, signal: scope.signal, pass: passOnce })
    // A call that an executor breaks off or leaves out has its one outcome too; a failing journal is a fault.
    .catch(() => {})
    .then(() => Promise.all(underWay.values()))
    .then(() => pending.forEach((entry) => entry.hasEnded || finish(entry, acting)))
  await watch(all, scope.deadlines, () => {
    if (!acting.isWritten || draft.events.length > acting.written) checkpoint(acting)
  })
}

async function pass({ callId }: ToolStep, acting: Acting): Promise<ActionResult> {
  const { scope } = acting.ports
  const entry = acting.pending.find(({ record }) => record.id === callId)
  if (!entry) return { callId, toolId: '', result: failure('tool_not_found', 'No such call.') }
  entry.state.startedAtMs = scope.parts.clock.nowMs()
  await passGates(entry.state, scope)
  finish(entry, acting)
  const { tool, outcome } = acting.draft.calls[entry.index]!
  return { callId, toolId: tool, result: outcome ?? waiting }
}

/** Settles a call, and reports it unless a call before it is still open. */
function finish(entry: PendingCall, acting: Acting): void {
  const { draft, ports } = acting
  entry.hasEnded = true
  draft.calls[entry.index] = settledRecord(entry, ports.scope)
  draft.usage = addUsage(draft.usage, spentUsage(entry.state))
  while (draft.calls[acting.reported]?.outcome) reportNext(acting)
  if (acting.isWritten && draft.calls.some(({ outcome }) => !outcome)) checkpoint(acting)
}

function reportNext(acting: Acting): void {
  const { draft, ports, calls } = acting
  draft.events.push(...calls[acting.reported]!.ending.splice(0).map(ports.stamp))
  acting.reported += 1
}

function checkpoint(acting: Acting): void {
  acting.isWritten = true
  acting.written = acting.draft.events.length
  acting.ports.checkpoint()
}

const waiting = failure('tool_pending', 'Waiting for someone outside.')

/** Waits for the calls; while they take long, looks now and then whether there are events to write. */
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
