import { errorCode, errorMessage } from '#contracts/errors.ts'
import { ofCall } from './types/event.ts'
import { joinLabels, labelFrom } from '#contracts/label.ts'
import { addUsage, zeroUsage } from '#contracts/lease.ts'
import { answersIn } from './types/pause.ts'
import type { ToolContext, ToolResult } from '#contracts/tool.ts'
import { heldBack, pauseOrDeny } from './approval.ts'
import type { GatedCall, Gate, TurnScope, Within } from './call.ts'
import { failure, subjectOf } from './call.ts'
import { openInner } from './inner.ts'

/** Milliseconds in which a stopped tool may report its spending; more if it has to ask sub-agents first. */
const graceMs = 1_000
const graceFor = ({ entry, limits }: GatedCall): number =>
  entry?.spends && limits ? graceMs * (1 + Math.min(Math.max(limits.maxDepth, 0), 8)) : graceMs

const cancelledError = { code: 'tool_cancelled', message: 'The call was cancelled.' } as const

/** Runs the tool. There is one result, even if the tool throws or takes too long. */
export const execute: Gate = {
  name: 'execute',
  when: 'before',
  async pass(call, scope, passOther) {
    call.hasRun = true
    const { deadlines, signal: ended } = scope
    const { ms, code } = call.deadline!
    const stop = new AbortController()
    let leave!: (result: ToolResult) => void
    const stopped = new Promise<ToolResult>((resolve) => (leave = resolve))
    const timeUp = () => {
      if (code === 'lease_time') call.refused = code
      leave(failure(code, `The call took longer than ${ms} ms.`, true))
      stop.abort(Object.assign(new Error('tool_timeout'), { code }))
    }
    const cancel = () => {
      leave({ ok: false, error: cancelledError })
      stop.abort(ended.reason)
    }
    let callOff = deadlines.after(ms, timeUp)
    // Removed again below: a run makes many calls, and its signal outlives them all.
    ended.addEventListener('abort', cancel)
    try {
      if (ended.aborted) cancel()
      const running = run(call, scope, { signal: stop.signal, passOther })
      const first = await Promise.race([running, stopped.then((result) => ({ result }))])
      callOff()
      if ('ok' in first) {
        call.result = !first.ok && ended.aborted ? { ...first, error: cancelledError } : first
      } else {
        const late = await Promise.race([
          running,
          new Promise<void>((resolve) => (callOff = deadlines.after(graceFor(call), resolve))),
        ])
        call.result = { ...first.result, ...(late?.usage && { usage: late.usage }) }
      }
    } finally {
      callOff()
      ended.removeEventListener('abort', cancel)
    }
    const { result } = call
    if (result.ok || !(result.pause || isCut(call, scope))) return
    call.result = undefined
    call.asking = result.usage
    return result.pause
      ? pauseOrDeny({ ...result.pause, label: result.label }, call, scope)
      : heldBack('lease_time', result.error.message, scope)
  },
}

/** The end of the run's time cut the call, and the call may be repeated after a raise. */
const isCut = ({ entry, refused }: GatedCall, { mayAsk, signal }: TurnScope): boolean =>
  mayAsk &&
  (refused ?? errorCode(signal.reason)) === 'lease_time' &&
  (entry!.isReadOnly || entry!.isIdempotent) &&
  !entry!.spends

async function run(
  call: GatedCall,
  scope: TurnScope,
  { signal, passOther }: Within,
): Promise<ToolResult> {
  const inner = call.entry!.inner && openInner(call, scope, { signal, passOther })
  const context: ToolContext = {
    ...scope.caller,
    call: call.id,
    label: subjectOf(call, scope).label,
    idempotencyKey: `${scope.caller.run}:${call.id}`,
    lease: call.limits!,
    signal,
    emit: (event) => call.emit(ofCall(call.id, event)),
    answers: answersIn(scope.answerTo(call.id)),
    ...(call.isApproved && { isApproved: true }),
    ...(inner && { inner: inner.calls }),
  }
  const result = await executed(call, context)
  const own = result.label ?? call.entry!.yields ?? labelFrom(call.entry!.tool.name)
  if (!inner) return { ...result, label: joinLabels([own]) }
  const usage = addUsage(result.usage ?? zeroUsage, await inner.close())
  return { ...result, label: joinLabels([own, inner.calls.label?.()]), usage }
}

async function executed(call: GatedCall, context: ToolContext): Promise<ToolResult> {
  try {
    return await call.entry!.tool.execute(call.input, context)
  } catch (error) {
    const detail = errorMessage(error).slice(0, 500).toWellFormed()
    call.emit({ type: 'tool_log', data: { call: call.id, detail } })
    return failure('tool_failed', 'The tool failed unexpectedly.')
  }
}
