import type { RunOutcome } from '../types/run-view.ts'
import { isStorageFault } from '../storage/storage-fault.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import type { RunEnd } from './run-end.ts'

/** How often a wake may find the same turn open before the run is given up. */
const maxWakes = 5

export interface TakeUpOptions {
  readonly store: SessionStore
  readonly end: RunEnd
  readonly launch: (row: RunRow) => unknown
  readonly onLeft: (row: RunRow, outcome: RunOutcome) => void
}

/**
 * Takes up a run that an earlier life of this object left open: it works again, goes on waiting, or is given up.
 *
 * @returns What went wrong if not even its end could be written.
 */
export function takeUp(row: RunRow, options: TakeUpOptions): unknown {
  const error = thrownBy(() => tryToTakeUp(row, options))
  // A mistake of ours costs the run that meets it, and nothing else.
  if (error === undefined || isStorageFault(error)) return error
  const left = thrownBy(() => giveUp(row, 'It cannot be taken up.', options))
  // It is tried again at the next wake, however many come after it.
  if (left !== undefined) thrownBy(() => options.store.keepOpen(row.order))
  return left
}

function tryToTakeUp(row: RunRow, options: TakeUpOptions): void {
  const { store, launch } = options
  const last = store.turns(row.order).at(-1)
  if (store.isDamaged(row.order)) return giveUp(row, 'Its record cannot be read.', options)
  if (row.startSeq === undefined) return void launch(row)
  if (pausesOf(row, last).length > 0) return store.keepOpen(row.order)
  const open = last && !last.isDone ? last.turn : (last?.turn ?? 0) + 1
  const wakes = row.wakeTurn === open ? row.wakes + 1 : 1
  const woken = { ...row, wakeTurn: open, wakes }
  store.writeRun(woken)
  if (wakes <= maxWakes) launch(woken)
  else giveUp(woken, `It was interrupted ${maxWakes} times in the same turn.`, options)
}

function giveUp(row: RunRow, why: string, { end, onLeft }: TakeUpOptions): void {
  const result = end.fail(row, { code: 'run_given_up', message: why })
  onLeft(row, result)
}

function thrownBy(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
