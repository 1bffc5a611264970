import { defined } from '#contracts/defined.ts'
import type { AgentResult } from '#contracts/agent.ts'
import { zeroUsage } from '#contracts/lease.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { RunSpending } from '../types/submission.ts'
import type { RunMemo, RunOutcome, RunView } from '../types/session-view.ts'
import { reachedNow } from './limit-text.ts'
import { pausesOf, toView, type RunRow, type SessionRow } from '../storage/stored-rows.ts'
import { asConfirmed, heldByRun, spentByRun, stepOf } from './spending.ts'
import type { SessionStore } from '../storage/store.ts'
import type { SessionCard } from '../types/audit-sink.ts'

export interface ViewOptions {
  readonly store: SessionStore
  /** `live` returns a value for a live run. */
  readonly runs: { readonly live: (run: string) => unknown }
  readonly runtime: SessionRuntime
  readonly session: string
}

/** A run as it is now. */
export function viewOf(row: RunRow, { store, runs, runtime, session }: ViewOptions): RunView {
  const { id, order, submission, createdAtMs } = row
  const { agent, begunBy } = submission
  const base = { id, session, agent, createdAtMs, ...defined({ begunBy }) }
  const result = store.final(order)
  if (result) return { ...base, state: result.state, result: resultNow(result, row) }
  const pauses = runs.live(id) ? [] : pausesOf(row, store.turns(order).at(-1))
  if (pauses.length > 0) {
    const { pauseMs } = runtime.timing
    const { tokens, costNanoUsd } = spentByRun(row, store.turns(order))
    const views = pauses.map((pause) => ({
      ...toView(
        pause.reached ? { ...pause, reached: reachedNow(pause.reached, row) } : pause,
        pauseMs,
        runtime.sha256,
      ),
      ...(pause.kind === 'approval' && { spent: { tokens, costNanoUsd } }),
    }))
    return { ...base, state: 'parked', pauses: views }
  }
  return { ...base, state: openState(row) }
}

/** A result with the settled attempts that may have been billed. */
function resultNow(result: AgentResult, row: RunRow): AgentResult {
  if (!row.confirmed) return result
  const usage = asConfirmed(result.usage, row)
  return { ...result, usage, costEstimateUsd: usage.costNanoUsd / 1e9 }
}

function openState({ startSeq, cancelReason }: RunRow): RunView['state'] {
  if (startSeq !== undefined) return 'running'
  return cancelReason === undefined ? 'queued' : 'cancelled'
}

export function memoOf(row: RunRow, options: ViewOptions): RunMemo {
  const { state, createdAtMs } = viewOf(row, options)
  const { isHidden = false, echoes, submission } = row
  return { state, createdAtMs, isHidden, echoes: { ...echoes, '0': submission.echo ?? {} } }
}

/** The outcome of a run that is not live; `undefined` if it is still to be worked on. */
export function outcomeOf(row: RunRow, options: ViewOptions): RunOutcome | undefined {
  const { result, pauses, id, agent } = viewOf(row, options)
  if (result ?? !pauses) return result
  const { trace } = row.submission
  return { id, sessionId: options.session, agent, trace, state: 'parked', pauses }
}

/** The spending of a run, for the ledger above it: an open run counts the reservations of its waiting calls. */
export function spendingOf(
  row: RunRow | undefined,
  { store, runs }: Pick<ViewOptions, 'store' | 'runs'>,
): RunSpending {
  if (!row) return { state: 'unknown', usage: zeroUsage }
  const turns = store.turns(row.order)
  const usage = spentByRun(row, turns)
  const isOver = turns.at(-1)?.final !== undefined
  const step = stepOf(row, turns, isOver)
  if (isOver) return { state: 'over', usage, step }
  const { tokens, costNanoUsd } = heldByRun(turns)
  const isParked = !runs.live(row.id) && pausesOf(row, turns.at(-1)).length > 0
  if (isParked && tokens === 0 && costNanoUsd === 0) return { state: 'parked', usage, step }
  return {
    state: 'open',
    usage: {
      ...usage,
      tokens: usage.tokens + tokens,
      costNanoUsd: usage.costNanoUsd + costNanoUsd,
    },
  }
}

/** The last run that was accepted. */
const lastRun = (store: SessionStore) => {
  const order = store.lastOrder()
  return order > 0 ? store.runs(order, order)[0] : undefined
}

/** When the last run came in or ended. */
export function lastUsedMs(
  store: SessionStore,
  { createdAtMs }: SessionRow,
  last = lastRun(store),
): number {
  if (!last) return createdAtMs
  return store.final(last.order)?.finishedAtMs ?? last.createdAtMs
}

/** A run that cannot be read has no state, and does not hold up the record. */
function stateOf(run: RunRow, options: ViewOptions): SessionCard['state'] {
  try {
    return viewOf(run, options).state
  } catch {
    return undefined
  }
}

export function kindOf({ lineage, isStateless }: Partial<SessionRow> = {}): SessionCard['kind'] {
  if (lineage) return 'child'
  return isStateless ? 'stateless' : 'named'
}

/** The session as the list of sessions shows it. */
export function cardOf(session: SessionRow, options: ViewOptions): SessionCard {
  const { store } = options
  const { agent } = session
  const last = lastRun(store)
  const state = last && stateOf(last, options)
  return {
    ...defined({ agent }),
    kind: kindOf(session),
    usedAtMs: lastUsedMs(store, session, last),
    runs: store.lastOrder(),
    ...defined({ state }),
  }
}
