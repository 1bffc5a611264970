import { toAgentResult } from '#runtime/kernel/types/agent-result.ts'
import type { AgentResult, RunError } from '#contracts/agent.ts'
import { headOf } from '#contracts/cut.ts'
import { defined } from '#contracts/defined.ts'
import type { SessionEvent } from '#contracts/event.ts'
import { toHolderResult } from '../types/floor.ts'
import { heldBy, type TurnRecord } from '#runtime/kernel/types/journal.ts'
import { addUsage, zeroUsage } from '#contracts/lease.ts'
import type { ToolResult } from '#contracts/tool.ts'
import { floorCallsIn, withFloor } from '../floor/floors.ts'
import { fullEvents } from '../log/log-view.ts'
import { spentWith } from '../log/spending.ts'
import { childrenIn, type Child } from '../storage/children.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Errand } from '../storage/todo.ts'
import type { RunParts } from './live-runs.ts'
import { openBill } from './run-bill.ts'

/** Ends a run that no kernel can end. `detail` is for the audit log only. */
export function failRun(
  row: RunRow,
  { error, detail }: { readonly error: RunError; readonly detail?: string },
  parts: RunParts,
): AgentResult {
  const { store, live, identity, runtime, hub } = parts
  const turns = store.turns(row.order)
  const before = live.lastSeq()
  const bill = openBill(turns, parts)
  const failed = failedTurn({
    row,
    error,
    detail,
    turns,
    nextTurn: store.lastTurn(row.order) + 1,
    session: identity.id,
    seq: live.nextSeq(),
    nowMs: runtime.clock.nowMs(),
  })
  const { turn, write } = withFloor(
    row,
    bill.into(failed.turn),
    { ...parts, nextSeq: live.nextSeq },
    turns.flatMap(floorCallsIn),
  )
  const last = { ...turn, final: turn.final ?? failed.final }
  try {
    write(() => writeEnd(row, last, parts))
  } catch (thrown) {
    bill.undo()
    live.freeSeqs(before)
    throw thrown
  }
  hub.publish(fullEvents(last))
  return last.final
}

/** The turn that ends a run. */
type LastTurn = TurnRecord & { readonly final: AgentResult }

export const isLastTurn = (turn: TurnRecord): turn is LastTurn => turn.final !== undefined

/** Writes the last turn of a run, and the outbox entries about its end for other objects: all of it, or nothing. */
export function writeEnd(row: RunRow, turn: LastTurn, parts: RunParts): void {
  const { runtime, store, todo, children } = parts
  // The run exports no trace if the trace's beginner does not sample it.
  const hasTrace = runtime.telemetry !== undefined && row.submission.traceLink?.isSampled !== false
  const { final } = turn
  const isAlone = final.state === 'completed' && !row.submission.lineage
  const begun = childrenIn(turn)
  const spent = store.session()?.limits && spentWith(row, turn, store)
  if (isAlone && !hasTrace && !spent && begun.length === 0) return store.writeTurn(row.order, turn)
  store.together(() => {
    store.writeTurn(row.order, turn)
    if (spent) store.writeSpent(spent)
    children.add(row.order, begun)
    if (!isAlone) addErrands(row, final, parts)
    if (hasTrace) todo.addTrace(row.id, 0)
  })
}

/** Outbox entries of a run that did not just complete, or that a run above waits for. */
function addErrands(row: RunRow, final: AgentResult, parts: RunParts): void {
  const { store, todo, children } = parts
  const turns = store.turns(row.order)
  const begun = final.state === 'completed' ? [] : children.ofRun(row.order)
  errandsOf(row, { turns, final, children: begun }).forEach(todo.add)
}

export interface FailedTurnOptions {
  readonly row: RunRow
  readonly turns: readonly TurnRecord[]
  readonly session: string
  readonly seq: number
  readonly nowMs: number
  readonly error: RunError
  readonly detail: string | undefined
  /** The number of the turn if the run has no open turn. */
  readonly nextTurn: number
}

/** A turn in which nothing was done. */
const noTurn: TurnRecord = {
  turn: 0,
  steps: [],
  calls: [],
  modelCalls: [],
  usage: zeroUsage,
  events: [],
  isDone: false,
}

/** The last turn of a run that no kernel can end: it keeps the run's spending and does nothing more. */
export function failedTurn(options: FailedTurnOptions): {
  readonly turn: TurnRecord
  readonly final: AgentResult
} {
  const { row, turns, session, seq, nowMs, error, detail, nextTurn } = options
  const state = error.code.startsWith('lease_') ? 'stopped' : 'failed'
  const open = turns.at(-1)?.isDone === false ? turns.at(-1) : undefined
  const { received, compactions, label, steps, calls, modelCalls, usage, events } = open ?? noTurn
  const { agent, trace } = row.submission
  const event = {
    seq,
    run: row.id,
    agent,
    trace,
    atMs: nowMs,
    type: 'run_finished',
    data: { state, turns: turns.length, ...error, ...(detail !== undefined && { detail }) },
  } as const
  const turn: TurnRecord = {
    turn: open?.turn ?? nextTurn,
    ...defined({ received, compactions, label }),
    steps,
    calls,
    modelCalls,
    // A call without an outcome may have spent its whole reservation.
    usage: addUsage(usage, heldBy(calls)),
    events: [...events, event],
    isDone: true,
  }
  const final = toAgentResult({
    run: row.id,
    session,
    trace,
    startedAtMs: row.startedAtMs ?? row.createdAtMs,
    agent: { id: agent, provenance: { template: '', version: '' } },
    // A run that a limit ends keeps its text as its result.
    ending: { state, ...(state === 'failed' && { result: '' }), ...error },
    turns: [...(open ? turns.slice(0, -1) : turns), turn],
    finishedAtMs: nowMs,
  })
  return { turn: { ...turn, final }, final }
}

/** The outbox entries that the end of a run makes. They are written with its last turn, so that a crash loses none. */
export function errandsOf(
  { id, submission, inbox = [] }: RunRow,
  {
    turns,
    final,
    children,
  }: {
    readonly turns: readonly TurnRecord[]
    readonly final: AgentResult
    readonly children: readonly Child[]
  },
): readonly Errand[] {
  const { lineage } = submission
  const events = turns.flatMap((turn) => turn.events)
  const isAwaited = lineage && (lineage.isBackground || events.some(isParking))
  const outcome: Errand[] = isAwaited
    ? [
        {
          kind: 'deliver',
          session: lineage.parentSession,
          delivery: {
            parentRun: lineage.parentRun,
            call: lineage.parentCall,
            agent: final.agent,
            session: final.sessionId,
            isBackground: lineage.isBackground ?? false,
            // A cancel does not begin other work.
            ...(final.state !== 'cancelled' && lineage.onOutcome && { onOutcome: 'run' }),
            result: short(toHolderResult(final, submission)),
          },
        },
      ]
    : []
  if (final.state === 'completed') return outcome
  const cancels = children
    // The outcome of a background child may have arrived.
    .filter(({ call }) => !inbox.some((item) => item.call === call))
    .filter((child) => mayWork(child, turns))
    // A background child outlives the run, but not a cancel.
    .filter(({ isBackground }) => !isBackground || final.state === 'cancelled')
    .map(({ session, call }): Errand => {
      return {
        kind: 'cancel',
        session,
        run: id,
        call,
        reason: 'The run that asked for it has ended.',
      }
    })
  return [...outcome, ...cancels]
}

/** The session of the sub-agent that an event is about, if it is about one. */
const childOf = ({ data }: SessionEvent): string | undefined =>
  'session' in data ? data.session : undefined

/** A noted child may have been refused before it began, or may have given its result. */
function mayWork({ session, call }: Child, turns: readonly TurnRecord[]): boolean {
  const told = turns
    .flatMap(({ events }) => events)
    .filter((event) => childOf(event) === session)
    .map(({ type }) => type)
  if (told.includes('agent_result')) return false
  const record = turns.flatMap(({ calls }) => calls).find(({ id }) => id === call)
  return told.includes('agent_invoked') || !record?.outcome
}

const maxDeliveredChars = 400_000

/** The result has to fit a row in both sessions; this session keeps the whole of it. */
function short(result: ToolResult): ToolResult {
  const text = result.ok ? JSON.stringify(result.output) : result.error.message
  if (text.length <= maxDeliveredChars) return result
  const cut = `${headOf(text, maxDeliveredChars)} [cut: the session has all ${text.length} characters]`
  return result.ok
    ? { ...result, output: cut }
    : { ...result, error: { ...result.error, message: cut } }
}

const isParking = ({ type }: { readonly type: string }) => type === 'run_parked'
