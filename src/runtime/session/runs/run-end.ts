import type { AgentResult, RunError } from '#contracts/agent.ts'
import type { TurnRecord } from '#runtime/kernel/types/journal.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { floorCallsIn, withFloor } from '../floor/floors.ts'
import { fullEvents } from '../log/log-view.ts'
import type { StreamHub } from '../log/stream-hub.ts'
import { childrenIn, type Children } from '../storage/children.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Todo } from '../storage/todo.ts'
import { errandsOf } from './errands.ts'
import { failedTurn } from './failed-turn.ts'
import type { LogPlaces } from './log-places.ts'
import type { RunBill } from './run-bill.ts'
import { spentAfter, spentWith } from '../log/spending.ts'

export interface RunEndOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly todo: Todo
  readonly children: Children
  readonly hub: StreamHub
  readonly places: LogPlaces
  readonly sessionId: () => string
  readonly billOf: (turns: readonly TurnRecord[]) => RunBill
}

export interface RunEnd {
  /** Ends a run that no kernel can end. `detail` is for the audit log only. */
  readonly fail: (row: RunRow, error: RunError, detail?: string) => AgentResult
  /** The end of a run, together with what has to be told elsewhere. */
  readonly writeFinal: (row: RunRow, turn: TurnRecord, final: AgentResult) => void
  /** Writes something into the row of a run, over or not. */
  readonly change: (row: RunRow, more: Partial<RunRow>) => void
}

export function createRunEnd(options: RunEndOptions): RunEnd {
  const { runtime, store, todo, children, hub, places, sessionId } = options
  const { clock } = runtime

  return {
    fail,
    writeFinal,
    change(row, more) {
      const after = { ...row, ...more }
      const isCounted = store.session()?.limits && store.final(row.order)
      if (!isCounted) return store.writeRun(after)
      const spent = spentAfter(row, after, store)
      store.together(() => {
        store.writeRun(after)
        store.writeSpent(spent)
      })
    },
  }

  function fail(row: RunRow, error: RunError, detail?: string): AgentResult {
    const turns = store.turns(row.order)
    const place = places.last()
    const bill = options.billOf(turns)
    const failed = failedTurn({
      row,
      error,
      detail,
      turns,
      nextTurn: store.lastTurn(row.order) + 1,
      session: sessionId(),
      seq: places.next(),
      nowMs: clock.nowMs(),
    })
    const parts = { ...options, nextSeq: places.next }
    const handed = turns.flatMap(floorCallsIn)
    const { turn, write } = withFloor(row, bill.into(failed.turn), parts, handed)
    const final = turn.final ?? failed.final
    try {
      write(() => writeFinal(row, turn, final))
    } catch (error) {
      bill.undo()
      places.back(place)
      throw error
    }
    hub.publish(fullEvents(turn))
    return final
  }

  function writeFinal(row: RunRow, turn: TurnRecord, final: AgentResult): void {
    const hasTrace = isTraced(row, runtime)
    const isAlone = final.state === 'completed' && !row.submission.lineage
    const begun = childrenIn(turn)
    const spent = store.session()?.limits && spentWith(row, turn, store)
    if (isAlone && !hasTrace && !spent && begun.length === 0)
      return store.writeTurn(row.order, turn)
    store.together(() => {
      store.writeTurn(row.order, turn)
      if (spent) store.writeSpent(spent)
      children.add(row.order, begun)
      if (!isAlone) addErrands(row, final)
      if (hasTrace) todo.addTrace(row.id, 0)
    })
  }

  /** Whom the end of a run concerns that did not just complete, or that somebody above waits for. */
  function addErrands(row: RunRow, final: AgentResult): void {
    const begun = final.state === 'completed' ? [] : children.ofRun(row.order)
    errandsOf(row, { turns: store.turns(row.order), final, children: begun }).forEach(todo.add)
  }
}

/** Whether a run's trace is to be exported: not if whoever began the trace does not record it. */
const isTraced = (
  { submission }: RunRow,
  { telemetry }: Pick<SessionRuntime, 'telemetry'>,
): boolean => telemetry !== undefined && submission.traceLink?.isSampled !== false
