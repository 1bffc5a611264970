import type { AgentResult } from '#contracts/agent.ts'
import { toAgentResult, type RunEnding } from './types/agent-result.ts'
import { errorCode, errorMessage, IsolaError } from '#contracts/errors.ts'
import { heldBy, type TurnRecord } from './types/journal.ts'
import { addUsage } from '#contracts/lease.ts'
import type { Kernel, Parked, RunInput, RunPorts } from './types/kernel.ts'
import type { Pause } from './types/pause.ts'
import { act } from './act.ts'
import { planTurn, receivedBy, scopeOf, type OpenTurn } from './plan-turn.ts'
import { openSegment, type KernelParts, type RunSegment } from './segment.ts'
import { openTurn, recordOf, usageOf, type TurnDraft } from './turn.ts'

export function createKernel(parts: KernelParts): Kernel {
  return { run: (input, ports) => runAgent(parts, input, ports) }
}

/**
 * Plan → act → reflect until the planner finishes, a lease is refused, or the run is cancelled. Resumes from the
 * journal: finished turns and calls are not repeated. Contract: never throws; exactly one terminal result, which
 * is in the journal when it returns. Before that it may be parked, and is run again once there is an answer.
 */
async function runAgent(
  parts: KernelParts,
  input: RunInput,
  ports: RunPorts,
): Promise<AgentResult | Parked> {
  const turns = [...ports.journal.load()]
  const last = turns.at(-1)
  if (last?.final) {
    ports.onSent()
    return last.final
  }
  const segment = openSegment(parts, input, ports, usageOf(turns))
  const cut = last && !last.isDone ? turns.pop() : undefined
  let draft = openTurn(cut?.turn ?? (last?.turn ?? 0) + 1, parts.clock.nowMs(), cut)
  // A stored plan includes its model call. Without a plan, the calls lost up to the turn's last write are stored.
  let lostCalls = cut?.steps.length ? 0 : input.lostCalls - lostIn(draft)
  if (cut || lostCalls > 0) {
    const data = { turn: draft.turn, lostCalls }
    draft.events.push(segment.stamp({ type: 'run_resumed', data }))
  }
  try {
    for (;;) {
      const checkpoint = () => void write(segment, draft, 'open')
      const ending = await runTurn(segment, { draft, turns, lostCalls, checkpoint })
      if (ending?.state === 'parked') return ending
      if (ending) return leave(segment, { draft, turns, ending })
      turns.push(write(segment, draft))
      draft = openTurn(draft.turn + 1, parts.clock.nowMs())
      lostCalls = 0
    }
  } catch (error) {
    return leave(segment, { draft, turns, ending: endingOf(error, segment.signal) })
  } finally {
    segment.close()
    ports.onSent()
  }
}

/** Lost model calls since the turn was last parked: earlier ones are booked already. */
const lostIn = ({ events }: TurnDraft): number =>
  events
    .slice(events.findLastIndex(({ type }) => type === 'run_parked') + 1)
    .filter(({ type, data }) => type === 'model_failed' && data.code === 'lost').length

/** @returns The end of the run, if the turn ends it, or its pauses. */
async function runTurn(
  segment: RunSegment,
  open: OpenTurn,
): Promise<RunEnding | Parked | undefined> {
  const { parts, input, ports, signal } = segment
  const { draft } = open
  segment.throwIfOver()
  if (draft.steps.length === 0) await planTurn(segment, open)
  const acted = draft.steps.some(({ type }) => type === 'tool')
    ? await act(draft, {
        scope: scopeOf(segment, draft),
        stamp: segment.stamp,
        checkpoint: open.checkpoint,
        sync: ports.journal.sync,
        executor: parts.executor,
        maxConcurrency: input.agent.limits.maxConcurrency,
      })
    : undefined
  signal.throwIfAborted()
  if (acted?.refused) {
    return { state: 'stopped', code: acted.refused, message: 'A budget of this run is used up.' }
  }
  if (acted && acted.pauses.length > 0) return park(segment, draft, acted.pauses)
  const reflection = await parts.reflector.reflect({
    agent: input.agent,
    turn: draft.turn,
    steps: draft.steps,
    actions: draft.calls.flatMap(({ id, tool, outcome }) =>
      outcome ? [{ callId: id, toolId: tool, result: outcome }] : [],
    ),
    left: segment.left(),
  })
  // A message that arrived meanwhile is read before the run ends.
  const hasHeardAll = () => !ports.received?.(receivedBy([...open.turns, draft])).length
  if (reflection.decision === 'finish' && hasHeardAll())
    return { state: 'completed', ...reflection }
  const review = ports.review?.([...open.turns, recordOf(draft, true)])
  draft.events.push(...(review?.tell ?? []).map(segment.stamp))
  return review?.end
}

/** Ends the run, or parks it at a limit that a caller may raise. */
function leave(segment: RunSegment, left: Left): AgentResult | Parked {
  const { draft, turns, ending } = left
  if (ending.state !== 'stopped') return end(segment, left)
  draft.usage = { ...draft.usage, timeMs: timeOf(draft, segment) }
  const answer = segment.ports.atLimit?.(ending, [...turns, recordOf(draft, false)])
  if (!answer?.pause) return end(segment, { ...left, ending: { ...ending, ...answer } })
  draft.pause = answer.pause
  const { reached } = draft.pause
  if (reached?.limit) draft.events.push(segment.stamp({ type: 'budget_reached', data: reached }))
  // A turn without a plan does not count.
  if (draft.steps.length === 0) draft.usage = { ...draft.usage, turns: 0 }
  const others = draft.calls.flatMap(({ pause, outcome }) => (pause && !outcome ? [pause] : []))
  return park(segment, draft, [draft.pause, ...others.filter(({ kind }) => kind !== 'budget')])
}

/** Ends the segment. The row has everything that the answer needs, so the object may leave memory. */
function park(segment: RunSegment, draft: TurnDraft, pauses: readonly Pause[]): Parked {
  const told = ({ call, tool, kind, label, approval }: Pause) => {
    return { call, tool, kind, label, approval }
  }
  draft.events.push(segment.stamp({ type: 'run_parked', data: { pauses: pauses.map(told) } }))
  write(segment, draft, 'open')
  return { state: 'parked', pauses }
}

function write(
  segment: RunSegment,
  draft: TurnDraft,
  ending: 'open' | 'done' | AgentResult = 'done',
): TurnRecord {
  const final = typeof ending === 'object' ? ending : undefined
  // The last row has the usage of the result.
  if (!final) draft.usage = { ...draft.usage, timeMs: timeOf(draft, segment) }
  const record = recordOf(draft, ending !== 'open', final)
  segment.ports.journal.write(record)
  segment.ports.onWritten(record)
  return record
}

/** Active time of a turn up to now, with the time of earlier segments. */
const timeOf = (draft: TurnDraft, { parts }: RunSegment): number =>
  draft.timeBeforeMs + Math.max(0, parts.clock.nowMs() - draft.openedAtMs)

type Left = Pick<OpenTurn, 'draft' | 'turns'> & { readonly ending: RunEnding }

/** The terminal outcome, in the same row as the last turn. */
function end(segment: RunSegment, { draft, turns, ending }: Left): AgentResult {
  const { input, parts, stamp } = segment
  // A call without an outcome may have spent its whole reservation, which no later segment books.
  draft.usage = addUsage(draft.usage, heldBy(draft.calls))
  draft.usage = { ...draft.usage, timeMs: timeOf(draft, segment) }
  const result = toAgentResult({
    ...input,
    ending,
    turns: [...turns, recordOf(draft, true)],
    finishedAtMs: parts.clock.nowMs(),
  })
  const detail = ending.detail === undefined ? {} : { detail: ending.detail }
  const data = { state: result.state, turns: result.steps, ...result.error, ...detail }
  draft.events.push(stamp({ type: 'run_finished', data }))
  write(segment, draft, result)
  return result
}

function endingOf(error: unknown, signal: AbortSignal): RunEnding {
  const cause = signal.aborted ? signal.reason : error
  const code = errorCode(cause)
  const message = errorMessage(cause)
  if (code?.startsWith('lease_')) return { state: 'stopped', code, message }
  if (signal.aborted) return { state: 'cancelled', code: 'cancelled', message }
  if (code === undefined) {
    const safe = 'The run failed for an internal reason.'
    return { state: 'failed', code: 'internal', message: safe, detail: message }
  }
  const detail = cause instanceof IsolaError ? cause.detail : undefined
  return { state: 'failed', code, message, ...(detail !== undefined && { detail }) }
}
