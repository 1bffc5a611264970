import { narrower, unlimited, type Limits } from '#contracts/lease.ts'
import { onlyLimited } from '../types/only-limited.ts'
import type { Pause } from '#runtime/kernel/types/pause.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { turnOfPause } from './limit-reached.ts'

/** The limits of a segment: what it was given, and less as soon as somebody lowers one. More it gets when it goes on. */
export function limitsInForce(given: Limits, row: () => RunRow): Limits {
  const now = (name: keyof Limits) =>
    Math.min(given[name] ?? unlimited, row().changed?.limits[name] ?? unlimited)
  return {
    get maxTokens() {
      return now('maxTokens')
    },
    get maxCostNanoUsd() {
      return now('maxCostNanoUsd')
    },
    get maxPlatformNanoUsd() {
      return now('maxPlatformNanoUsd')
    },
    get maxTimeMs() {
      return now('maxTimeMs')
    },
    get maxTurns() {
      return now('maxTurns')
    },
    get maxToolCalls() {
      return now('maxToolCalls')
    },
    get maxChildren() {
      return now('maxChildren')
    },
    get maxDepth() {
      return now('maxDepth')
    },
    get maxConcurrency() {
      return now('maxConcurrency')
    },
  }
}

/** What the last turn of a run waits for as a whole, if it does. */
const pauseOf = ({ order }: RunRow, store: SessionStore): Pause | undefined => {
  const last = store.turns(order).at(-1)
  return last?.isDone === false ? last.pause : undefined
}

/** Nobody raised a limit in time, or somebody said that it stays: for good, whatever became of the turn since. */
const isRefused = ({ answers = {} }: RunRow): boolean =>
  Object.entries(answers).some(([call, { kind }]) => turnOfPause(call) > 0 && kind === 'outcome')

/** Whether a run that reaches a limit is to wait for somebody who raises it. */
export const mayAsk = (row: RunRow): boolean =>
  row.submission.mayRaise === true && row.submission.lineage === undefined && !isRefused(row)

/** The limits of a run that ends because they stay as they were, or are lower by now: nothing is asked of the day any more. */
export function limitsThatStay(row: RunRow, store: SessionStore, own: Limits): Limits | undefined {
  const pause = isRefused(row) ? pauseOf(row, store) : undefined
  return pause && narrower({ ...own, ...row.changed?.limits }, onlyLimited(pause.limits))
}
