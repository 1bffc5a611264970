import type { EventDraft } from '#contracts/event.ts'
import { toCanonicalJson, type JsonObject } from '#contracts/json.ts'
import { joinLabels, ownLabel, type Label } from '#contracts/label.ts'
import { minus, zeroAmount, zeroUsage } from '#contracts/lease.ts'
import type { Amount, Lease, Limits, Usage } from '#contracts/lease.ts'
import type { ModelProvider } from '#contracts/model.ts'
import type { PauseAnswer } from './types/pause.ts'
import type { HookSubject } from './types/policy.ts'
import type { ToolErrorCode, LeaseErrorCode } from '#contracts/errors.ts'
import type { GateParts } from './types/policy.ts'
import type { Clock } from '#contracts/sources.ts'
import type { ToolContext, ToolResult, ToolEntry, Toolset, PauseRequest } from '#contracts/tool.ts'
import type { Ledger } from './types/ledger.ts'
import { widthOf } from './leases/share.ts'
import type { Deadlines } from './deadlines.ts'

/** What all calls of a turn have in common. */
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
  /** A call that a limit holds back waits until somebody has raised it, or nobody has. */
  readonly mayAsk: boolean
  /** Aborts on cancel, on the run's time limit and when its lease is revoked. */
  readonly signal: AbortSignal
  /** Who is calling: everything of a tool's context that does not depend on the call. */
  readonly caller: Omit<
    ToolContext,
    'call' | 'idempotencyKey' | 'lease' | 'signal' | 'emit' | 'inner'
  >
}

/** One call on its way through the gates. Each gate reads and adds; nobody else holds it. */
export interface CallState {
  readonly id: string
  /** The call that makes this one, if it is not the model that does. */
  readonly parent?: string | undefined
  /** As the model named it. */
  readonly name: string
  readonly emit: (event: EventDraft) => void
  input: JsonObject
  /** Of what a hook made of its input. */
  changed?: Label | undefined
  entry?: ToolEntry | undefined
  lease?: Lease
  /** What it may spend at most. */
  limits?: Limits
  /** The tool's own limit, or what the run has left if that is less. */
  deadline?: { readonly ms: number; readonly code: 'tool_timeout' | 'lease_time' }
  hasRun: boolean
  /** Somebody was asked about it with these arguments, and said yes. */
  isApproved?: boolean
  /** Interrupted by a crash and not to be repeated: what it may have spent. */
  readonly cut?: Partial<Amount>
  startedAtMs: number
  /** True if a lease of this run was refused for this call: the run stops after the turn. */
  refused?: LeaseErrorCode
  /** It waits for someone outside, and has no result in this segment. */
  pause?: PauseRequest
  /** What it spent up to that; whatever it does when it runs again comes on top. */
  asking?: Usage | undefined
  result?: ToolResult | undefined
}

/** What a gate may say. Nothing means: go on. */
export type GateVerdict =
  | void
  | { readonly deny: ToolResult }
  | { readonly recheck: true }
  | { readonly pause: PauseRequest }

export type PassGates = (call: CallState, scope: TurnScope) => Promise<void>

/** What a call that runs has besides: its own end, and the whole way for calls that it makes. */
export type Within = { readonly signal: AbortSignal; readonly passOther: PassGates }

export interface Gate {
  readonly name: string
  /** `before` runs while there is no result, `after` only if the tool ran, `always` whatever happened. */
  readonly when: 'before' | 'after' | 'always'
  /** What it says where it breaks. */
  readonly broken?: ToolResult
  /** @param passOther The whole way, for calls that this one makes. */
  readonly pass: (
    call: CallState,
    scope: TurnScope,
    passOther: PassGates,
  ) => GateVerdict | Promise<GateVerdict>
}

type FailureCode = ToolErrorCode | LeaseErrorCode

export function failure(code: FailureCode, message: string, transient?: boolean): ToolResult {
  return { ok: false, error: { code, message, ...(transient && { transient }) } }
}

/** Of what a call was given, in whatever order its fields came: made once, since the start, the end and the record of a call all name it. */
export function argsHashOf(input: JsonObject, { parts, argsHashes }: TurnScope): string {
  const hash = argsHashes.get(input) ?? parts.sha256(toCanonicalJson(input))
  argsHashes.set(input, hash)
  return hash
}

export function subjectOf(call: CallState, { caller, signal }: TurnScope): HookSubject {
  const { id, name, input, entry, emit, changed = ownLabel } = call
  const tool = entry?.tool.name ?? name
  const label = joinLabels([caller.label, changed])
  const does = { isDestructive: Boolean(entry?.isDestructive), sinks: entry?.sinks }
  const goesTo = entry?.goesTo?.(input)
  return { ...caller, ...does, call: id, tool, input, goesTo, label, signal, emit }
}

/** What a call really took: itself, and what the tool reports; a spending call that reports nothing took its whole lease. */
export function spentBy(call: CallState): Partial<Amount> {
  if (!call.hasRun) return {}
  const reserved = call.lease?.amount
  const usage = call.result?.usage
  if (!call.entry?.spends) return { toolCalls: 1, costNanoUsd: usage?.costNanoUsd ?? 0 }
  if (!usage) return reserved ?? { toolCalls: 1 }
  const spent = minus(usage, zeroAmount)
  const children = widthOf(call.entry) + spent.children
  return { ...spent, toolCalls: 1 + spent.toolCalls, children }
}

/** What the caller books for a call. Its time is the caller's own: time does not add up. */
export function spentUsage(call: CallState): Usage {
  if (call.pause) {
    const { asking, entry } = call
    // What asks has run, and runs again. One that spends has to find the share that it had.
    const toolCalls = (asking?.toolCalls ?? 0) + (call.pause.asks && !entry?.spends ? 1 : 0)
    return { ...zeroUsage, ...asking, toolCalls, timeMs: 0 }
  }
  const amount = call.lease ? spentBy(call) : (call.cut ?? {})
  return { ...zeroUsage, ...call.result?.usage, ...zeroAmount, ...amount, timeMs: 0 }
}
