import { pausesOf } from '../storage/open-pauses.ts'
import { isStorageFault } from '../storage/refusals.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { RunParts } from './live-runs.ts'
import { failRun } from './run-end.ts'

/** How often a wake may find the same turn open before the run is given up. */
const maxWakes = 5

interface TakeUpParts extends RunParts {
  readonly afterRun: (row: RunRow, outcome: ReturnType<typeof failRun>) => void
}

/**
 * Takes up a run that an earlier life of this object left open: the run works again, goes on waiting, or is given up.
 *
 * @returns The error if not even the end of the run could be written.
 */
export function takeUp(row: RunRow, parts: TakeUpParts, launch: (row: RunRow) => unknown): unknown {
  const error = thrownBy(() => tryToTakeUp(row, parts, launch))
  // A bug costs the run that meets it, and no other.
  if (error === undefined || isStorageFault(error)) return error
  const unwritten = thrownBy(() => giveUp(row, 'It cannot be taken up.', parts))
  // The next wake tries again, however many runs come after this one.
  if (unwritten !== undefined) thrownBy(() => parts.store.keepOpen(row.order))
  return unwritten
}

function tryToTakeUp(row: RunRow, parts: TakeUpParts, launch: (row: RunRow) => unknown): void {
  const { store } = parts
  const last = store.turns(row.order).at(-1)
  if (store.isDamaged(row.order)) return giveUp(row, 'Its record cannot be read.', parts)
  if (row.startSeq === undefined) return void launch(row)
  if (pausesOf(row, last).length > 0) return store.keepOpen(row.order)
  const open = last && !last.isDone ? last.turn : (last?.turn ?? 0) + 1
  const wakes = row.wakeTurn === open ? row.wakes + 1 : 1
  const woken = { ...row, wakeTurn: open, wakes }
  store.writeRun(woken)
  if (wakes <= maxWakes) launch(woken)
  else giveUp(woken, `It was interrupted ${maxWakes} times in the same turn.`, parts)
}

function giveUp(row: RunRow, why: string, parts: TakeUpParts): void {
  parts.afterRun(row, failRun(row, { error: { code: 'run_given_up', message: why } }, parts))
}

function thrownBy(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
