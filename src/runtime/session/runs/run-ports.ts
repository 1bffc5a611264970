import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { RunInput, RunPorts } from '#runtime/kernel/types/kernel.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import type { LimitReached, Limits } from '#contracts/lease.ts'
import { labelOf } from '#contracts/message.ts'
import { labelOfContext } from '../types/message-label.ts'
import type { AddedTexts } from '#runtime/kernel/types/plan.ts'
import type { RunOutcome } from '../types/session-view.ts'
import type { ReadyAgent } from '../types/runtime.ts'
import { spanIdOf } from '#contracts/trace.ts'
import type { ToolContext, Toolset } from '#contracts/tool.ts'
import { toTraceHeaders } from '../types/telemetry.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { optionsOf } from '../floor/floors.ts'
import { saidAtBeginning, toView, type InboxItem, type RunRow } from '../storage/stored-rows.ts'
import { runBefore, type SessionStore } from '../storage/store.ts'
import { createKnownTools, createRunJournal } from './run-journal.ts'
import { adviceFor, mayAsk, pauseAt, whyRefused } from './limit-pause.ts'
import { limitsInForce, ownerOfLimit } from './limits.ts'
import { changeRun, persistRun, type Run, type RunParts } from './live-runs.ts'
import { review } from './review.ts'
import { openBill } from './run-bill.ts'

/** A run with its agent and its lease, ready for the kernel: from here it runs until it ends or is parked. */
export interface Segment {
  readonly run: Run
  readonly ready: ReadyAgent
  /** The lease. */
  readonly limits: Limits
  /** The limits of the agent itself. */
  readonly own: Limits
  /** How often the run's limits had been changed when the lease was taken. */
  readonly changes: number
}

/** Runs one segment in the kernel: hands over the contents of the session, and stores the turns of the kernel. */
export async function executeRun(segment: Segment, parts: RunParts): Promise<RunOutcome> {
  const { run, ready } = segment
  const { store, runtime, identity, live } = parts
  const limits = limitsInForce(segment.limits, run)
  const turns = store.turns(run.row.order)
  const bill = openBill(turns, parts)
  const known = knownToolsOf(segment)
  const journal = createRunJournal({ run, toolset: ready.toolset, turns, bill, known }, parts)
  const { tools, ...listening } = listeningTo(run, ready.toolset, parts)
  const toolset = known ? { ...tools, refuse: known.refuse } : tools
  const ports: RunPorts = {
    signal: run.stop.signal,
    nextSeq: live.nextSeq,
    onSent: () => persistRun(run, parts),
    ...listening,
    headersOf: headersOf(run),
    received: (from) => (run.row.inbox ?? []).slice(from).map(toReceived),
    added: addedTo(run, turns, parts),
    answerTo: (call) => run.row.answers?.[call],
    platform: bill,
    atLimit(ending, done) {
      const pause = pauseAt(ending, bill.ifParked(done), {
        limits,
        changes: segment.changes,
        nowMs: runtime.clock.nowMs(),
        maxOutputTokens: ready.spec.parameters.maxOutputTokens,
        turnNanoUsd: bill.turnNanoUsd(),
        ownerOf: (limit, allowed) =>
          ownerOfLimit(run.row, { store, own: segment.own }, { limit, allowed }),
      })
      if (listening.mayRaise) return { message: pause.reached.message, pause }
      return stoppedAt(pause.reached, done, run.row)
    },
    review: (done) =>
      review(bill.billed(done), { limits, rounds: ready.spec.maxRepeats, row: run.row }),
    journal,
    onWritten: journal.publish,
  }
  const outcome = await runtime.kernel.run(inputOf(segment, { toolset, limits }, parts), ports)
  if (outcome.state !== 'parked') return journal.last()?.final ?? outcome
  const { pauseMs } = runtime.timing
  return {
    id: run.id,
    sessionId: identity.id,
    agent: ready.spec.id,
    trace: run.submission.trace,
    state: 'parked',
    pauses: outcome.pauses.map((pause) => toView(pause, pauseMs, runtime.sha256)),
  }
}

/** The run as the kernel takes it. */
function inputOf(
  { run: { row }, ready: { spec } }: Segment,
  { toolset, limits }: { readonly toolset: Toolset; readonly limits: Limits },
  { store, transcript, identity }: RunParts,
): RunInput {
  const { submission, startedAtMs, createdAtMs } = row
  const { lineage, principal, trace, traceLink } = submission
  const { messages: before, compactions } = transcript.before(row)
  const messages = [...before, ...saidAtBeginning(row)]
  return {
    run: row.id,
    session: identity.id,
    rootSession: lineage?.rootSession ?? identity.id,
    shared: lineage?.shared,
    principal,
    opening: openingOf(row, store),
    trace,
    ...(traceLink && { traceLink }),
    depth: lineage?.depth ?? 0,
    ancestry: lineage?.ancestry ?? [],
    agent: { ...spec, limits },
    options: optionsOf(row, store),
    toolset,
    messages,
    label: joinLabels([labelOfContext(messages, compactions), ...labelsOfAgent(spec, toolset)]),
    ...(compactions.length > 0 && { compactions }),
    isLeftOver: transcript.isLeftOver,
    startedAtMs: startedAtMs ?? createdAtMs,
    lostCalls: row.wakes,
  }
}

/** The labels of an agent's own texts: its persona, and its tools. */
const labelsOfAgent = ({ persona }: ReadyAgent['spec'], { label }: Toolset) => [
  persona?.label ?? ownLabel,
  label ?? ownLabel,
]

/** A run that goes on from a response before the last leaves out the text that came after it. */
function openingOf({ order, submission: { after } }: RunRow, store: SessionStore) {
  if (order === 1 || !store.hasBefore(order)) return 'start'
  return after && after.run !== runBefore(store, order)?.id ? 'reset' : undefined
}

/** A run that was woken may find other tools than it was begun with. */
function knownToolsOf({ run, ready }: Segment) {
  if (run.agent || !run.row.pin) return undefined
  return createKnownTools(ready.toolset, ready.pin?.agent.tools)
}

/** Chooses the text that readers of the stream hear, and whether a caller may raise a limit of the run. */
function listeningTo({ id, row, audience }: Run, toolset: Toolset, { hub }: RunParts) {
  const isWatched = () => audience === 'reader' || hub.hasReaders()
  if (!row.passedOn) return { tools: toolset, isWatched, onDelta: hub.delta, mayRaise: mayAsk(row) }
  const say: ToolContext['say'] = (piece) => {
    if (isWatched()) hub.delta({ type: 'message_delta', ...piece, run: id })
  }
  // The agent that has the conversation gives the answer, so the words of this run are none. A handoff's lease is
  // fixed.
  return { tools: withSpokenText(toolset, say), isWatched, onDelta: () => {}, mayRaise: false }
}

/**
 * The tools of a run that passes its message on: the text of the call is the answer of the run, and its readers get
 * it as the tool says it. The pieces are not stored: the result of the call has the whole text.
 */
const withSpokenText = (toolset: Toolset, say: NonNullable<ToolContext['say']>): Toolset => ({
  ...toolset,
  resolve(name, input) {
    const found = toolset.resolve(name, input)
    if (!found) return undefined
    const { entry } = found
    const execute = (given: typeof input, context: ToolContext) =>
      entry.tool.execute(given, context.parent === undefined ? { ...context, say } : context)
    return { ...found, entry: { ...entry, tool: { ...entry.tool, execute } } }
  },
})

function headersOf({ id, submission }: Run): NonNullable<RunPorts['headersOf']> {
  const { trace, traceLink: link } = submission
  return (turn, request) => toTraceHeaders({ trace, span: spanIdOf(id, turn, request), link })
}

const toReceived = ({ message }: InboxItem): InboxItem['message'] => ({
  ...message,
  label: labelOf(message),
})

/**
 * Texts that hooks add to the first model call are stored with the run's first row, so that a woken run sends the same.
 * A run that was cut off before it stored any, and before a model answered, has its first model call still to come.
 */
function addedTo(run: Run, turns: readonly TurnRecord[], parts: RunParts): AddedTexts {
  const { pin, added } = run.row
  const isSettled = added !== undefined || turns.some(({ steps }) => steps.length > 0)
  let isFirst = true
  return {
    kept: pin && isSettled ? (added ?? []) : undefined,
    note(texts) {
      if (isFirst && texts.length > 0 && !isSettled) changeRun(run, { added: texts }, parts)
      isFirst = false
    },
  }
}

/** No caller can be asked: the run ends with the reason, and with advice how to get further. */
function stoppedAt(reached: LimitReached, turns: readonly TurnRecord[], row: RunRow) {
  const { submission } = row
  const message = `${reached.message}${adviceFor(submission, reached)}${whyRefused(row)}`
  // A day without the money for one word is a refusal, and no answer.
  const isMute = turns.every((turn) => toTurnSaid(turn).text === '')
  const isUsedUp = reached.of === 'day' && !submission.lineage && isMute
  return { message, ...(isUsedUp && { code: 'request_insufficient_quota' }) }
}
