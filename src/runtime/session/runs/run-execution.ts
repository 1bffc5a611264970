import { labelOf, labelOfContext } from '#contracts/message-label.ts'
import { joinLabels, ownLabel } from '#contracts/label.ts'
import type { AddedText } from '#runtime/kernel/types/agent-pin.ts'
import type { AgentResult } from '#contracts/agent.ts'
import type { LimitReached } from '#contracts/lease.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { AddedTexts } from '#runtime/kernel/types/plan.ts'
import type { ReadyAgent, SessionRuntime } from '../types/runtime.ts'
import type { RunOutcome } from '../types/run-view.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { spanIdOf } from '#contracts/span-id.ts'
import { toTraceHeaders } from '#contracts/trace.ts'
import { toTurnSaid } from '#runtime/kernel/types/turn-said.ts'
import { saidAtBeginning } from '../storage/begun-with.ts'
import { childIdOf } from '../storage/ids.ts'
import { childrenIn, type BegunChild, type ChildNames, type Children } from '../storage/children.ts'
import { createFloorCalls, optionsOf, withFloor } from '../floor/floors.ts'
import { withVoice } from '../floor/voice.ts'
import { fullEvents } from '../log/log-view.ts'
import { toView } from '../storage/open-pauses.ts'
import { limitsInForce, mayAsk } from './limits-in-force.ts'
import { adviceFor, pauseAt, whyRefused, type ReachedOptions } from './limit-reached.ts'
import { review } from './review.ts'
import { runBefore } from '../storage/run-order.ts'
import type { RunBill } from './run-bill.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'
import type { InboxItem, RunRow } from '../storage/stored-rows.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import type { Transcript } from '../log/transcript.ts'
import { createKnownTools } from './known-tools.ts'

export interface ExecutionOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly hub: StreamHub
  readonly transcript: Transcript
  readonly sync: () => Promise<void>
  readonly sessionId: () => string
  readonly audience: 'reader' | 'result'
  readonly nextSeq: () => number
  /** The run as it stands: what came in meanwhile is in it. */
  readonly row: () => RunRow
  readonly signal: AbortSignal
  /** It was accepted in an earlier life of this object, or parked: what is enabled may be other than what it began with. */
  readonly isWoken: boolean
  /** Keeps what hooks added to its first model call. */
  readonly keepAdded: (texts: readonly AddedText[]) => void
  /** Of the run as it is stored; what it writes into a turn is what is stored of it. */
  readonly billOf: (turns: readonly TurnRecord[]) => RunBill
  /** Writes the run's row if it is not there yet. */
  readonly persist: () => void
  /** How often its limits had been changed when those that it works with were looked up. */
  readonly changes: number
  /** Whose each of them is. */
  readonly ownerOf: NonNullable<ReachedOptions['ownerOf']>
  readonly writeFinal: (turn: TurnRecord, final: AgentResult) => void
}

/** One segment of a run: hands the kernel what the session holds, and the session what the kernel writes. */
export async function executeRun(
  { spec, toolset, pin }: ReadyAgent,
  options: ExecutionOptions,
): Promise<RunOutcome> {
  const { runtime, store, hub, transcript, row, sessionId } = options
  const { id, order, submission, startedAtMs, createdAtMs, wakes } = row()
  const { lineage, principal, trace, traceLink: link } = submission
  const { messages: before, compactions } = transcript.before(row())
  const messages = [...before, ...saidAtBeginning(row())]
  const notes = createChildNotes(options, toolset)
  const known =
    options.isWoken && row().pin ? createKnownTools(toolset, pin?.agent.tools) : undefined
  const { tools, isWatched, onDelta, mayRaise } = tellingOf(options, toolset)
  const limits = limitsInForce(spec.limits, row)
  let loaded: readonly TurnRecord[] = []
  let published = 0
  let failure: unknown
  let opened: RunBill | undefined
  let written: TurnRecord | undefined
  const handed = createFloorCalls()
  const bill = () => (opened ??= options.billOf(store.turns(order)))
  const outcome = await runtime.kernel.run(
    {
      run: id,
      session: sessionId(),
      rootSession: lineage?.rootSession ?? sessionId(),
      shared: lineage?.shared,
      principal,
      opening: openingOf(row(), store),
      trace,
      ...(link && { traceLink: link }),
      depth: lineage?.depth ?? 0,
      ancestry: lineage?.ancestry ?? [],
      agent: { ...spec, limits },
      options: optionsOf(row(), store),
      toolset: known ? { ...tools, refuse: known.refuse } : tools,
      messages,
      label: joinLabels([labelOfContext(messages, compactions), ...labelsOfAgent(spec, tools)]),
      ...(compactions.length > 0 && { compactions }),
      isLeftOver: transcript.isLeftOver,
      startedAtMs: startedAtMs ?? createdAtMs,
      lostCalls: wakes,
    },
    {
      signal: options.signal,
      nextSeq: options.nextSeq,
      onSent: options.persist,
      onDelta,
      headersOf: (turn, request) =>
        toTraceHeaders({ trace, span: spanIdOf(id, turn, request), link }),
      isWatched,
      received: (from) => (row().inbox ?? []).slice(from).map(toReceived),
      added: addedTo(options, () => loaded),
      answerTo: (call) => row().answers?.[call],
      mayRaise,
      platform: { turnNanoUsd: () => bill().turnNanoUsd(), beyond: () => bill().beyond() },
      atLimit(ending, turns) {
        const nowMs = runtime.clock.nowMs()
        const pause = pauseAt(ending, bill().ifParked(turns), {
          limits,
          changes: options.changes,
          nowMs,
          maxOutputTokens: spec.parameters.maxOutputTokens,
          turnNanoUsd: bill().turnNanoUsd(),
          ownerOf: options.ownerOf,
        })
        if (mayRaise) return { message: pause.reached.message, pause }
        return stoppedAt(pause.reached, turns, row())
      },
      review: (turns) =>
        review(bill().billed(turns), { limits, rounds: spec.maxRepeats, row: row() }),
      journal: {
        load() {
          const turns = (loaded = store.turns(order))
          turns.forEach(handed.note)
          opened = options.billOf(turns)
          // A turn that is taken up again brings what it told before it was parked.
          published = turns.at(-1)?.events.at(-1)?.seq ?? 0
          known?.takeUp(turns)
          if (turns.length > 0) notes.note(turns.at(-1)!)
          return turns
        },
        write(turn) {
          // What is missing on record is not passed over: the segment ends, and the run is taken up again.
          if (failure !== undefined) throw failure
          try {
            options.persist()
            const stored = bill().into(turn)
            const { turn: last, write } = withFloor(row(), stored, options, handed.before(turn))
            written = last
            const { final } = last
            if (final) write(() => options.writeFinal(last, final))
            else store.writeTurn(order, written, notes.begunIn(turn))
            handed.note(turn)
            known?.note(turn)
          } catch (error) {
            opened?.undo()
            failure = error
            throw error
          }
        },
        sync: options.sync,
      },
      onWritten(kept) {
        const turn = written ?? kept
        hub.publish(fullEvents(turn).filter((event) => event.seq > published))
        published = turn.events.at(-1)?.seq ?? published
      },
    },
  )
  // As it is stored: with what the platform was made to do.
  if (outcome.state !== 'parked') return written?.final ?? outcome
  const { pauseMs } = runtime.timing
  const waiting = outcome.pauses.map((pause) => toView(pause, pauseMs, runtime.sha256))
  return { id, sessionId: sessionId(), agent: spec.id, trace, state: 'parked', pauses: waiting }
}

/** No person can be asked: the run ends with the reason, and with the way to get further. */
function stoppedAt(reached: LimitReached, turns: readonly TurnRecord[], row: RunRow) {
  const { submission } = row
  const message = `${reached.message}${adviceFor(submission, reached)}${whyRefused(row)}`
  // A day that cannot pay for a first word is no answer.
  const isMute = turns.every((turn) => toTurnSaid(turn).text === '')
  const isUsedUp = reached.of === 'day' && !submission.lineage && isMute
  return { message, ...(isUsedUp && { code: 'request_insufficient_quota' }) }
}

/** The labels of an agent's own texts: its persona, and its tools. */
const labelsOfAgent = ({ persona }: ReadyAgent['spec'], { label }: ReadyAgent['toolset']) => [
  persona?.label ?? ownLabel,
  label ?? ownLabel,
]

const toReceived = ({ message }: InboxItem): InboxItem['message'] => ({
  ...message,
  label: labelOf(message),
})

/** Whose words its readers hear, and who may be asked about its limits. */
function tellingOf({ row, hub, audience }: ExecutionOptions, toolset: ReadyAgent['toolset']) {
  const { id: run, passedOn } = row()
  const isWatched = () => audience === 'reader' || hub.hasReaders()
  if (!passedOn) return { tools: toolset, isWatched, onDelta: hub.delta, mayRaise: mayAsk(row()) }
  const say: ToolContext['say'] = (piece) => {
    if (isWatched()) hub.delta({ type: 'message_delta', ...piece, run })
  }
  // What is looked at before a message is passed on is no answer; and what a floor may take is nobody's to raise.
  return { tools: withVoice(toolset, say), isWatched, onDelta: () => {}, mayRaise: false }
}

/**
 * Those of its first model call are kept, in the row that is written when that is on its way. For a run that was cut
 * before it had any, and before a model said anything, that call is still to come.
 */
function addedTo(
  { row, keepAdded }: ExecutionOptions,
  taken: () => readonly TurnRecord[],
): AddedTexts {
  const { pin, added } = row()
  const isSettled = () => added !== undefined || taken().some(({ steps }) => steps.length > 0)
  let isFirst = true
  return {
    get kept() {
      return pin && isSettled() ? (added ?? []) : undefined
    },
    note(texts) {
      if (isFirst && texts.length > 0 && !isSettled()) keepAdded(texts)
      isFirst = false
    },
  }
}

/** The children that the turns of a run begin. */
function createChildNotes(
  { runtime, children, row, sessionId }: ExecutionOptions,
  toolset: ReadyAgent['toolset'],
) {
  const { id: run, order } = row()
  const names: ChildNames = {
    sessionOf: (call) => childIdOf({ session: sessionId(), run, call }, runtime.sha256),
    agentOf(name, input) {
      // Where its session is only whoever has the conversation knows; its call says so when it begins.
      if (row().passedOn) return undefined
      const resolved = toolset.resolve(name, input)
      const { agent } = resolved?.entry ?? {}
      return agent === undefined
        ? undefined
        : { agent, isBackground: resolved!.input['background'] === true }
    },
  }
  const begunBy = (turn: TurnRecord) => childrenIn(turn, names)
  /** Of the turn that is open. */
  let noted: { readonly turn: number; readonly begun: readonly BegunChild[] } | undefined
  return {
    /** Takes up a turn that is stored. */
    note(turn: TurnRecord): void {
      noted = { turn: turn.turn, begun: children.ofTurn(order, turn.turn) }
    },
    /** All of this turn, if there are some that are not noted; to be written with it. */
    begunIn(turn: TurnRecord): readonly BegunChild[] | undefined {
      const before = noted?.turn === turn.turn ? noted.begun : []
      const known = new Set(before.map(({ session }) => session))
      const more = begunBy(turn).filter(({ session }) => !known.has(session))
      if (more.length === 0) return undefined
      noted = { turn: turn.turn, begun: [...before, ...more] }
      return noted.begun
    },
  }
}

/** One that goes on from an earlier response than the last leaves behind what was said since. */
function openingOf({ order, submission: { after } }: RunRow, store: SessionStore) {
  if (order === 1 || !store.hasBefore(order)) return 'start'
  return after && after.run !== runBefore(store, order)?.id ? 'reset' : undefined
}
