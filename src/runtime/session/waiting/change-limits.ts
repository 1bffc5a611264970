import { IsolaError } from '#contracts/errors.ts'
import type { Limits } from '#contracts/lease.ts'
import { pausesOf } from '../storage/open-pauses.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { OutsideParts } from './outside.ts'
import { conflict } from './pauses.ts'

export interface LimitsChange {
  /** Each replaces the limit of agent, request and session; an absent limit stays. */
  readonly limits: Partial<Limits>
  /** An operator may allow more than the day has. */
  readonly isOperator: boolean
}

/**
 * Raises or lowers the limits of an unfinished run, for its next steps. A run that waits for a raise goes on as soon as its
 * next step fits. The same limits again change nothing, unless the run waits with them. Throws `request_conflict`.
 */
export function changeLimits(
  row: RunRow,
  { limits, isOperator }: LimitsChange,
  { store, runs }: Pick<OutsideParts, 'store' | 'runs'>,
): void {
  const { lineage } = row.submission
  if (lineage) {
    const { parentRun, parentSession } = lineage
    const message = `What this run may spend is its caller’s to give: change the limits of ${parentRun} in ${parentSession}.`
    throw new IsolaError('request_conflict', message)
  }
  if (store.final(row.order) || row.cancelReason !== undefined) throw conflict('The run is over.')
  const { changed } = row
  const merged = { ...changed?.limits, ...limits }
  const byOperator = isOperator ? { ...changed?.byOperator, ...limits } : changed?.byOperator
  const waiting = pausesOf(row, store.turns(row.order).at(-1))
  const isTriedAlready = waiting.some(({ changes }) => changes === changed?.count)
  const isSame =
    textOf(merged) === textOf(changed?.limits) && textOf(byOperator) === textOf(changed?.byOperator)
  if (isSame && !isTriedAlready) return
  const count = (changed?.count ?? 0) + 1
  runs.change(row, { changed: { limits: merged, count, ...(byOperator && { byOperator }) } })
  runs.wake(row.id)
}

const textOf = (limits: Partial<Limits> = {}): string =>
  JSON.stringify(Object.entries(limits).toSorted(([one], [other]) => one.localeCompare(other)))
