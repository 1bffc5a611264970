import { errorCode, IsolaError } from '#contracts/errors.ts'
import { contextLabel, toTurnSaid } from './types/turn-said.ts'
import { joinLabels } from '#contracts/label.ts'
import type { TurnRecord } from './types/journal.ts'
import { addUsage } from '#contracts/lease.ts'
import { callAfter } from './types/lease.ts'
import type { Message } from '#contracts/message.ts'
import type { ModelRequest } from '#contracts/model.ts'
import type { PlannerState } from './types/plan.ts'
import type { TurnScope } from './call.ts'
import { toError } from './leases/bill.ts'
import { createGenerate } from './leases/generate.ts'
import { checkPlan } from './check-plan.ts'
import type { RunSegment } from './segment.ts'
import { shareOf } from './leases/share.ts'
import type { TurnDraft } from './turn.ts'

export interface OpenTurn {
  readonly draft: TurnDraft
  /** The run's finished turns. */
  readonly turns: readonly TurnRecord[]
  readonly lostCalls: number
  /** Writes the turn as it stands. */
  readonly checkpoint: () => void
}

/** Takes the lease of one turn, fits the conversation into the model's context, and asks the planner for the steps. */
export async function planTurn(segment: RunSegment, open: OpenTurn): Promise<void> {
  const { draft, turns, lostCalls, checkpoint } = open
  const { parts, input, ports, ledger, stamp, signal } = segment
  // A turn that was cut after its context was compacted has its lease, and its messages.
  if (!draft.isBegun) begin(segment, open)
  let offset = 0
  let isSummary = false
  const generate = createGenerate({
    models: parts.models,
    clock: parts.clock,
    after: segment.deadlines.after,
    ledger,
    signal,
    emit: (event) => void draft.events.push(stamp(event)),
    about: (request) => ({ turn: draft.turn, request }),
    onSpent(usage, call) {
      draft.usage = addUsage(draft.usage, usage)
      if (call) draft.modelCalls.push(call)
    },
    requestsBefore: draft.events.filter(({ type }) => /^model_(called|failed)$/.test(type)).length,
    lostCalls,
    onSent: ports.onSent,
    headersOf: (request) => ports.headersOf?.(draft.turn, request) ?? {},
    isWatched: () => !isSummary && (ports.isWatched?.() ?? true),
    onDelta(text) {
      if (isSummary) return
      ports.onDelta({ type: 'message_delta', run: input.run, turn: draft.turn, offset, text })
      offset += text.length
    },
  })
  for (const turn of turns.slice(segment.said.length)) segment.said.push(toTurnSaid(turn).messages)
  const said = [...segment.said.flat(), ...draft.received]
  const instructions = { role: 'system', text: input.agent.instructions } as const
  const messages: readonly Message[] = [instructions, ...input.messages, ...said]
  // The label of the whole conversation: the summary in a compacted context has the label of its originals.
  draft.label = joinLabels([input.label, contextLabel(said)])
  const summarize = (request: ModelRequest) => {
    isSummary = true
    return generate(request).finally(() => (isSummary = false))
  }
  const plan = async (force?: 'context_error') => {
    const own = [...turns, draft].flatMap(({ compactions = [] }) => compactions)
    const state: PlannerState = {
      caller: { ...callerOf(segment), opening: input.opening, label: draft.label },
      agent: input.agent,
      messages,
      tools: input.toolset.definitions,
      turn: draft.turn,
      left: segment.left(),
      signal,
      generate,
      added: ports.added,
      read: (label) => void (draft.label = joinLabels([draft.label, label])),
      emit: (event) => void draft.events.push(stamp(event)),
    }
    const isDecided = draft.compactions.length > 0
    const spent = () => draft.usage
    const more = { run: input, own, isDecided, generate: summarize, spent, force }
    const fitted = await parts.context?.fit({ ...state, ...more })
    if (fitted?.compaction) {
      draft.compactions.push(fitted.compaction)
      const data = { turn: draft.turn, ...fitted.compaction.report }
      state.emit({ type: 'context_compacted', data })
      // Written with its cost: a turn that is taken up from here neither compacts nor pays again.
      checkpoint()
    }
    return parts.planner.plan({ ...state, ...fitted, left: segment.left() })
  }
  const steps = await plan().catch((error: unknown) => {
    const isTooLong = errorCode(error) === 'model_context_exceeded' && !signal.aborted
    return isTooLong && parts.context ? plan('context_error') : Promise.reject(error)
  })
  draft.steps = checkPlan(steps, draft.turn, parts.sha256)
  if (draft.steps.some((step) => 'message' in step && step.message !== ''))
    draft.events.push(stamp({ type: 'message_finished', data: { turn: draft.turn } }))
}

function begin({ input, ports, ledger, stamp }: RunSegment, { draft, turns }: OpenTurn): void {
  const { platform } = ports
  ledger.charge({ platformNanoUsd: platform?.beyond() ?? 0 })
  const amount = { turns: 1, platformNanoUsd: platform?.turnNanoUsd() ?? 0 }
  const lease = ledger.reserve(amount)
  if (!lease.ok) {
    draft.usage = { ...draft.usage, turns: 0 } // the turn did not take place
    const { code } = lease.refusal
    if (code !== 'lease_turns') {
      draft.events.push(stamp({ type: 'lease_refused', data: { ...lease.refusal } }))
      throw toError(lease.refusal)
    }
    throw new IsolaError(code, `The run has used its ${input.agent.limits.maxTurns} turns.`)
  }
  ledger.settle(lease.lease, amount)
  const { length: heard } = draft.received
  draft.received = ports.received?.(receivedBy(turns)) ?? []
  if (draft.received.length > heard)
    draft.events.push(stamp({ type: 'run_steered', data: { turn: draft.turn } }))
}

/** How many messages of the inbox these turns have read. */
export const receivedBy = (turns: readonly Pick<TurnRecord, 'received'>[]): number =>
  turns.reduce((sum, { received = [] }) => sum + received.length, 0)

/** The scope of a turn's calls: each has an equal share of the rest. */
export function scopeOf(segment: RunSegment, draft: TurnDraft): TurnScope {
  const { parts, input, ports, ledger, signal, timeLeftMs, deadlines } = segment
  const { agent } = input
  const finalCall = {
    ...callAfter(draft.modelCalls.at(-1), agent.parameters.maxOutputTokens),
    platformNanoUsd: ports.platform?.turnNanoUsd() ?? 0,
  }
  return {
    parts: { ...parts, ...parts.gates },
    toolset: input.toolset,
    ledger,
    // Pinned: a resumed call reserves its old share, whatever other calls have spent meanwhile.
    share: draft.share
      ? { ...draft.share, maxTimeMs: timeLeftMs() }
      : shareOf({
          limits: agent.limits,
          left: ledger.left(),
          finalCall,
          calls: Math.max(1, draft.steps.filter(({ type }) => type === 'tool').length),
          timeLeftMs: timeLeftMs(),
        }),
    timeLeftMs,
    deadlines,
    argsHashes: new WeakMap(),
    signal,
    answerTo: ports.answerTo ?? (() => undefined),
    mayAsk: ports.mayRaise ?? false,
    caller: { ...callerOf(segment), label: joinLabels([draft.label]) },
  }
}

function callerOf({ input }: RunSegment): TurnScope['caller'] {
  const { run, session, rootSession, principal, options, trace, traceLink, depth, shared } = input
  const { id: agent } = input.agent
  const who = { run, session, rootSession, principal, agent, options, trace, depth, shared }
  return { ...who, ancestry: [...input.ancestry, agent], ...(traceLink && { traceLink }) }
}
