import { startedEvent } from './call-events.ts'
import { ofCall } from './types/event.ts'
import { joinLabels, labelOfResult, ownLabel, type Label } from '#contracts/label.ts'
import { addUsage, narrower, zeroUsage, type Usage } from '#contracts/lease.ts'
import type { InnerCalls, ToolResult } from '#contracts/tool.ts'
import type { GatedCall, TurnScope, Within } from './call.ts'
import { argsHashOf, failure, spentUsage } from './call.ts'
import { createSlots, shareOf } from './leases/share.ts'
import { createGenerate, type GenerateOptions } from './leases/generate.ts'
import { createLedger, createLedgerWithin } from './leases/ledger.ts'

/** Code has no context to fill; a longer result is stored behind a handle all the same. */
export const maxOutputChars = 1_000_000
const endsFirstMs = 100

const tooMany = failure('lease_tool_calls', 'The budget does not allow this call.')
const isOver = failure('tool_cancelled', 'The call that asked for this is over.')

/**
 * The calls that the code of one call may make: other tools, each through every gate, and model calls. All are
 * within the call's lease, have ids of their own, and end with the call. `close` waits for them and returns their
 * spending.
 * @see docs/design.md section 8, invariants 3 and 4
 */
export function openInner(call: GatedCall, scope: TurnScope, { signal, passOther }: Within) {
  const { clock, models } = scope.parts
  const { inner } = call.entry!
  const { resolve } = inner!
  const toolset = resolve === 'agent' ? scope.toolset : { definitions: [], resolve }
  const limits = call.limits!
  const over = new AbortController()
  const within = AbortSignal.any([signal, over.signal])
  const ledger = createLedger(limits)
  const slots = createSlots(limits.maxConcurrency)
  const open = new Set<Promise<unknown>>()
  const beganAtMs = clock.nowMs()
  // The end of this call comes before the end of its inner calls: else its code could answer with their ends.
  const timeLeftMs = () => limits.maxTimeMs + endsFirstMs - Math.max(0, clock.nowMs() - beganAtMs)
  const ownModels = inner!.model && createLedgerWithin(ledger, narrower(limits, inner!.model))
  let usage = zeroUsage
  let label = ownLabel
  let count = 0
  const underWay = new Set<GatedCall>()
  const read = () => label
  const shared = { call, scope, toolset, ledger, timeLeftMs, signal: within, underWay, read }
  const track = <T>(work: Promise<T>): Promise<T> => {
    open.add(work.catch(() => undefined))
    return work
  }
  const pass = async (state: GatedCall): Promise<ToolResult> => {
    if (within.aborted) return isOver
    state.startedAtMs = clock.nowMs()
    const entry = toolset.resolve(state.name, state.input)?.entry
    const { definitionHash = '', record, tool = state } = entry ?? {}
    const about = { argsHash: argsHashOf(state.input, scope), definitionHash, record }
    state.emit(startedEvent({ ...state, ...about, tool: tool.name }))
    await passOther(state, scopeBelow(shared))
    usage = addUsage(usage, spentUsage(state))
    label = joinLabels([label, labelOfResult(state.result!)])
    return state.result!
  }
  const calls: InnerCalls = {
    label: read,
    reaches: (name) => toolset.resolve(name, {}) !== undefined,
    async callTool(name, input, changed) {
      const id = `${call.id}.${(count += 1)}`
      // The first call beyond the limit is on the record, further ones are not.
      if (count > limits.maxToolCalls + 1) return tooMany
      const base = { emit: call.emit, hasRun: false, startedAtMs: 0 }
      const state: GatedCall = { ...base, id, parent: call.id, name, input, changed }
      underWay.add(state)
      return track(slots(() => pass(state)).finally(() => underWay.delete(state)))
    },
    ...(ownModels && {
      async generate(request, mayUse) {
        within.throwIfAborted()
        const onSpent = (spent: Usage) => void (usage = addUsage(usage, spent))
        const parts = { models, clock, ledger: ownModels, signal: within, mayUse, onSpent }
        return track(generateFor(call, parts)(request))
      },
    }),
  }
  return {
    calls,
    async close() {
      over.abort(new Error('This call is over.'))
      await Promise.all(open)
      return usage
    },
  }
}

/** A call with the parts that its own calls share. */
interface Caller extends Pick<TurnScope, 'toolset' | 'ledger' | 'timeLeftMs' | 'signal'> {
  readonly call: GatedCall
  readonly scope: TurnScope
  readonly underWay: ReadonlySet<GatedCall>
  /** The label of all results that its code has read so far. */
  readonly read: () => Label
}

/** The scope of the calls that a call's code makes. */
function scopeBelow({ call, scope, underWay, read, ...own }: Caller): TurnScope {
  return {
    ...scope,
    ...own,
    parts: { ...scope.parts, outputs: { ...scope.parts.outputs, maxChars: maxOutputChars } },
    // Read when the call reserves, and divided by the calls that have no reservation yet.
    get share() {
      const [left, finalCall] = [own.ledger.left(), { tokens: 0, costNanoUsd: 0 }]
      const calls = [...underWay].filter((one) => !one.lease && !one.result).length
      const options = { left, finalCall, calls, timeLeftMs: own.timeLeftMs() }
      // Together with later calls they keep to the concurrency of this call.
      return { ...shareOf({ ...options, limits: call.limits! }), maxConcurrency: 1 }
    },
    answerTo: () => undefined,
    mayAsk: false,
    caller: {
      ...scope.caller,
      ancestry: [...scope.caller.ancestry, call.entry!.tool.name],
      options: { ...scope.caller.options, pauses: 'refuse' },
      parent: call.id,
      get label() {
        return joinLabels([scope.caller.label, call.changed ?? ownLabel, read()])
      },
    },
  }
}

type ModelParts = Pick<
  GenerateOptions,
  'models' | 'clock' | 'ledger' | 'signal' | 'onSpent' | 'mayUse'
>

/** A model for a call's code: on the call's record, and not streamed to readers. */
const generateFor = (call: GatedCall, parts: ModelParts) =>
  createGenerate({
    ...parts,
    emit: (event) => call.emit(ofCall(call.id, event)),
    about: () => call.entry!.record,
    lostCalls: 0,
    headersOf: () => ({}),
    isWatched: () => false,
    onDelta: () => {},
    onSent: () => {},
  })
