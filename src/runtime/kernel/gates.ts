import { finishedEvent } from './call-events.ts'
import type { LeaseErrorCode } from '#contracts/errors.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import type { Limits } from '#contracts/lease.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { argsHashOf, failure, spentBy, subjectOf, type Gate } from './call.ts'
import { execute } from './execute.ts'
import { heldBack, needsApproval, outOfTime, pauseOrDeny } from './approval.ts'
import { leaseFor, widthOf } from './leases/share.ts'

/** A name that is not in the agent's toolset does not exist for the agent. */
const known: Gate = {
  name: 'known',
  when: 'before',
  pass(call, { toolset, caller }) {
    if (call.entry) return
    const resolved = toolset.resolve(call.name, call.input)
    if (!resolved) {
      const { missing = () => `There is no tool named "${call.name}" here.` } = toolset
      return { deny: failure('tool_not_found', missing(call.name, call.input)) }
    }
    const { name } = resolved.entry.tool
    if (caller.ancestry.includes(name)) {
      const message = `The tool ${name} is already at work above this call.`
      return { deny: failure('tool_denied', message) }
    }
    call.entry = resolved.entry
    call.input = resolved.input
  },
}

/** A run calls the definition of a tool that it knows; it has to look at a changed tool first. */
const unchanged: Gate = {
  name: 'unchanged',
  when: 'before',
  pass({ id, entry }, { toolset }) {
    const refusal = toolset.refuse?.(id, entry!)
    if (refusal) return { deny: refusal }
  },
}

const validInput: Gate = {
  name: 'input',
  when: 'before',
  pass(call, { parts }) {
    const verdict = parts.validator.validate(call.entry!.tool.inputSchema, call.input)
    if (verdict.ok) return
    const where = verdict.path === '' ? 'The input' : `"${verdict.path}"`
    const label = call.entry!.toldLabel // the reason may quote the schema
    return { deny: { ...failure('tool_invalid_input', `${where} ${verdict.message}.`), label } }
  },
}

const policy: Gate = {
  name: 'policy',
  when: 'before',
  async pass(call, scope) {
    const verdict = await scope.parts.policy.decide(subjectOf(call, scope))
    if (!verdict.allow) return { deny: failure(verdict.code, verdict.message) }
  },
}

const rate: Gate = {
  name: 'rate',
  when: 'before',
  async pass(call, scope) {
    const { rates, clock } = scope.parts
    const verdict = await rates.take(subjectOf(call, scope), clock.nowMs())
    if (!verdict.allow) return { deny: failure(verdict.code, verdict.message) }
  },
}

/** A veto wins; a failed or late hook counts as one. A changed input passes schema and policy again. */
const beforeHooks: Gate = {
  name: 'beforeToolCall',
  when: 'before',
  broken: failure('tool_denied', 'A check before this call failed, so it was not made.'),
  async pass(call, scope) {
    const verdict = await scope.parts.hooks.before(subjectOf(call, scope))
    const { label } = verdict
    if (verdict.veto) return { deny: { ...failure('tool_denied', verdict.message), label } }
    if (!verdict.input) return
    call.input = verdict.input
    call.changed = joinLabels([call.changed ?? ownLabel, label])
    return { recheck: true }
  },
}

/** An approval holds for one call with exactly the arguments it was given for, so it is spent by running that call. */
const approval: Gate = {
  name: 'approval',
  when: 'before',
  async pass(call, scope) {
    const needed = await needsApproval(call, scope)
    if (needed === false) return
    scope.argsHashes.delete(call.input) // a hook may have changed the input in place
    const answer = scope.answerTo(call.id)
    const isSame =
      answer?.kind === 'approved' &&
      answer.argsHash === argsHashOf(call.input, scope) &&
      answer.definitionHash === call.entry!.definitionHash
    call.isApproved = needed.isCovered ?? isSame
    if (call.isApproved) return
    return pauseOrDeny({ kind: 'approval', expires: true, ...needed }, call, scope)
  },
}

/** Reserves one tool call, and for a call that may itself spend, its share of the rest. */
const lease: Gate = {
  name: 'lease',
  when: 'before',
  pass(call, scope) {
    const { ledger, share, timeLeftMs } = scope
    const entry = call.entry!
    const { limits, amount } = leaseFor(entry, share)
    const missing = entry.spends && widthOf(entry) > 0 && firstMissing(limits, entry)
    const reservation = missing
      ? ({ ok: false, refusal: { code: missing } } as const)
      : ledger.reserve(amount)
    if (!reservation.ok) {
      const { code } = reservation.refusal
      call.refused = code
      call.emit({ type: 'lease_refused', data: { call: call.id, ...reservation.refusal } })
      return heldBack(code, 'The budget does not allow this call.', scope)
    }
    call.lease = reservation.lease
    call.limits = { ...limits, maxTimeMs: Math.min(limits.maxTimeMs, timeLeftMs()) }
  },
}

const timeout: Gate = {
  name: 'timeout',
  when: 'before',
  pass(call, scope) {
    const own = call.entry!.timeoutMs
    const left = scope.timeLeftMs()
    call.deadline =
      own <= left ? { ms: own, code: 'tool_timeout' } : { ms: left, code: 'lease_time' }
    if (left > 0) return
    return outOfTime(call, scope)
  },
}

/** A result too long for the context is stored behind a handle, never silently cut. */
const outputCap: Gate = {
  name: 'outputCap',
  when: 'after',
  async pass(call, scope) {
    const { result } = call
    if (!result?.ok) return
    const json = JSON.stringify(result.output) ?? 'null'
    const { outputs } = scope.parts
    if (json.length <= outputs.maxChars) return
    const kept = { ...subjectOf(call, scope), label: result.label }
    call.result = { ...result, output: await outputs.keep(kept, json) }
  },
}

const heldBackText = 'A check after this call failed, so its result is held back.'
const afterHooks: Gate = {
  name: 'afterToolCall',
  when: 'after',
  broken: failure('tool_denied', heldBackText),
  async pass(call, scope) {
    call.result = await scope.parts.hooks.after(subjectOf(call, scope), call.result!)
  },
}

const settle: Gate = {
  name: 'settle',
  when: 'always',
  pass(call, { ledger }) {
    if (!call.lease) return
    if (ledger.settle(call.lease, spentBy(call))) {
      call.emit({ type: 'lease_overdrawn', data: { call: call.id } })
    }
  },
}

const event: Gate = {
  name: 'event',
  when: 'always',
  pass({ id, parent, name, input, entry, result, startedAtMs, emit }, scope) {
    const { parts } = scope
    const durationMs = Math.max(0, parts.clock.nowMs() - startedAtMs)
    const tool = entry?.tool.name ?? name
    const argsHash = argsHashOf(input, scope)
    emit(finishedEvent({ id, parent, tool, argsHash, result, durationMs, record: entry?.record }))
  },
}

/** Every gate, in the order of docs/design.md section 4. No way to run a tool skips one. */
export const gates: readonly Gate[] = [
  known,
  unchanged,
  validInput,
  policy,
  rate,
  beforeHooks,
  approval,
  lease,
  timeout,
  execute,
  outputCap,
  afterHooks,
  settle,
  event,
]

/** The first dimension in which a share is too small to start anything. */
function firstMissing(limits: Limits, { callsTools }: ToolEntry): LeaseErrorCode | undefined {
  if (limits.maxDepth < 0) return 'lease_depth'
  if (limits.maxTokens < 1) return 'lease_tokens'
  if (limits.maxTurns < 1) return 'lease_turns'
  if (limits.maxTimeMs < 1) return 'lease_time'
  if (callsTools && limits.maxToolCalls < 1) return 'lease_tool_calls'
  if (limits.maxPlatformNanoUsd === 0) return 'lease_platform'
  return undefined
}
