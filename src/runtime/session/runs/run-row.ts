import { IsolaError } from '#contracts/errors.ts'
import { runStarted } from '../log/log-view.ts'
import { spentAfter } from '../log/spending.ts'
import { withPin } from '../storage/run-pin.ts'
import { begun } from '../storage/session-row.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Run, RunParts } from './live-runs.ts'

/** Accepts a new run by writing its first row; declines it and throws if the row cannot be written. */
export function persistRun(run: Run, parts: RunParts): void {
  if (run.state === 'stored') return
  if (run.state === 'declined') {
    throw new IsolaError('request_unavailable', 'The run could not be stored. Try again.')
  }
  try {
    run.row = writeFirst(run, parts)
  } catch (error) {
    declineRun(run, error)
    throw error
  }
  run.state = 'stored'
  parts.ensureRecovery()
  parts.hub.publish(runStarted(run.row))
  run.acceptance.resolve()
}

/** Ends a new run of which nothing is stored. */
export function declineRun(run: Run, error: unknown): void {
  run.state = 'declined'
  run.stop.abort(error)
  run.acceptance.reject(error)
}

/** Changes a run that is live; its row too, once it is written. */
export function changeRun(run: Run, more: Partial<RunRow>, parts: RunParts): void {
  const before = run.row
  run.row = { ...before, ...more }
  if (run.state === 'stored') changeRow(before, more, parts)
}

/** Changes the row of a run, over or not. */
export function changeRow(
  row: RunRow,
  more: Partial<RunRow>,
  { store }: Pick<RunParts, 'store'>,
): void {
  const after = { ...row, ...more }
  const isCounted = store.session()?.limits && store.final(row.order)
  if (!isCounted) return store.writeRun(after)
  const spent = spentAfter(row, after, store)
  store.together(() => {
    store.writeRun(after)
    store.writeSpent(spent)
  })
}

/** Writes the first row of a run, and the session's row where this is its first run: both, or neither. */
function writeFirst({ row: run, agent }: Run, parts: RunParts): RunRow {
  const { store, outbox, identity, runtime } = parts
  const before = store.session()
  const session = begun(before, run.submission, {
    id: identity.id,
    nowMs: runtime.clock.nowMs(),
  })
  const { row, freed } = withPin(run, agent?.pin, store)
  if (!session && freed.length === 0) {
    store.addRun(row) // mostly one row: no transaction around it
    return row
  }
  store.together(() => {
    if (session) store.writeSession(session)
    store.addRun(row)
    freed.forEach(store.writeRun)
  })
  if (!before) outbox.begin()
  return row
}
