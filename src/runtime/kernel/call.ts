import type { EventDraft } from '#contracts/event.ts'
import { toCanonicalJson, type JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import type { Lease, Ledger } from './types/lease.ts'
import { minus } from './types/lease.ts'
import type { Amount, Limits, Usage } from '#contracts/lease.ts'
import { zeroAmount, zeroUsage } from '#contracts/lease.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { PauseAnswer } from './types/pause.ts'
import type { HookSubject, GateParts } from './types/policy.ts'
import type { ToolErrorCode, LeaseErrorCode } from '#contracts/errors.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext, ToolResult, ToolEntry, Toolset, PauseRequest } from '#contracts/tool.ts'
import { widthOf } from './leases/share.ts'
import type { Deadlines } from './deadlines.ts'

/** The scope that all calls of a turn share. */
export interface TurnScope {
  readonly parts: GateParts & {
    readonly clock: Clock
    readonly sha256: (text: string) => string
    readonly models: ModelProvider
  }
  readonly toolset: Toolset
  readonly ledger: Ledger
  /** The most one call of this turn may spend. */
  readonly share: Limits
  readonly timeLeftMs: () => number
  readonly deadlines: Deadlines
  readonly argsHashes: WeakMap<JsonObject, string>
  readonly answerTo: (call: string) => PauseAnswer | undefined
  /** A call that a limit holds back waits for a raise, until the pause expires. */
  readonly mayAsk: boolean
  /** Aborts on cancel, on the run's time limit and when its lease is revoked. */
  readonly signal: AbortSignal
  /** The caller: everything of a tool's context that does not depend on the call. */
  readonly caller: Omit<
    ToolContext,
    'call' | 'idempotencyKey' | 'lease' | 'signal' | 'emit' | 'inner'
  >
}

/** One call on its way through the gates. Only the gates read and change it. */
export interface GatedCall {
  readonly id: string
  /** The call that makes this one, if it is not the model that does. */
  readonly parent?: string | undefined
  /** The name that the model used. */
  readonly name: string
  readonly emit: (event: EventDraft) => void
  input: JsonObject
  /** The label of an input that a hook changed. */
  changed?: Label | undefined
  entry?: ToolEntry | undefined
  lease?: Lease
  /** The most that the call may spend. */
  limits?: Limits
  /** The tool's own limit, or the rest of the run's time if that is less. */
  deadline?: { readonly ms: number; readonly code: 'tool_timeout' | 'lease_time' }
  hasRun: boolean
  /** An approver allowed the call with these arguments. */
  isApproved?: boolean
  /** The possible spending of a call that a crash cut and that must not be repeated. */
  readonly cut?: Partial<Amount>
  startedAtMs: number
  /** True if a lease of this run was refused for this call: the run stops after the turn. */
  refused?: LeaseErrorCode
  /** The call waits for an answer from outside, and has no result in this segment. */
  pause?: PauseRequest
  /** The spending up to the pause; the next run of the call adds to it. */
  asking?: Usage | undefined
  result?: ToolResult | undefined
}

/** The verdict of a gate. Without one the call goes on. */
export type GateVerdict =
  | void
  | { readonly deny: ToolResult }
  | { readonly recheck: true }
  | { readonly pause: PauseRequest }

export type PassGates = (call: GatedCall, scope: TurnScope) => Promise<void>

/** The parts of a running call: its own abort signal, and the gates for calls that it makes. */
export type Within = { readonly signal: AbortSignal; readonly passOther: PassGates }

export interface Gate {
  readonly name: string
  /** `before` runs while there is no result, `after` only if the tool ran, `always` whatever happened. */
  readonly when: 'before' | 'after' | 'always'
  /** The result if the gate throws. */
  readonly broken?: ToolResult
  /** @param passOther All gates, for calls that this call makes. */
  readonly pass: (
    call: GatedCall,
    scope: TurnScope,
    passOther: PassGates,
  ) => GateVerdict | Promise<GateVerdict>
}

type FailureCode = ToolErrorCode | LeaseErrorCode

export function failure(code: FailureCode, message: string, transient?: boolean): ToolResult {
  return { ok: false, error: { code, message, ...(transient && { transient }) } }
}

/**
 * The hash of a call's input, independent of the order of its fields. Computed once: start, end and record of a
 * call have it.
 */
export function argsHashOf(input: JsonObject, { parts, argsHashes }: TurnScope): string {
  const hash = argsHashes.get(input) ?? parts.sha256(toCanonicalJson(input))
  argsHashes.set(input, hash)
  return hash
}

export function subjectOf(call: GatedCall, { caller, signal }: TurnScope): HookSubject {
  const { id, name, input, entry, emit, changed = ownLabel } = call
  const tool = entry?.tool.name ?? name
  const label = joinLabels([caller.label, changed])
  const does = { isDestructive: Boolean(entry?.isDestructive), sinks: entry?.sinks }
  const goesTo = entry?.goesTo?.(input)
  return { ...caller, ...does, call: id, tool, input, goesTo, label, signal, emit }
}

/**
 * The spending of a call: the call itself and the tool's report. A spending call without a report took its whole
 * lease.
 */
export function spentBy(call: GatedCall): Partial<Amount> {
  if (!call.hasRun) return {}
  const reserved = call.lease?.amount
  const usage = call.result?.usage
  if (!call.entry?.spends) return { toolCalls: 1, costNanoUsd: usage?.costNanoUsd ?? 0 }
  if (!usage) return reserved ?? { toolCalls: 1 }
  const spent = minus(usage, zeroAmount)
  const children = widthOf(call.entry) + spent.children
  return { ...spent, toolCalls: 1 + spent.toolCalls, children }
}

/** The usage that the caller books for a call, without its time: calls run side by side. */
export function spentUsage(call: GatedCall): Usage {
  if (call.pause) {
    const { asking, entry } = call
    // A call that asks has run, and runs again. A spending call has to find its old share.
    const toolCalls = (asking?.toolCalls ?? 0) + (call.pause.asks && !entry?.spends ? 1 : 0)
    return { ...zeroUsage, ...asking, toolCalls, timeMs: 0 }
  }
  const amount = call.lease ? spentBy(call) : (call.cut ?? {})
  return { ...zeroUsage, ...call.result?.usage, ...zeroAmount, ...amount, timeMs: 0 }
}
