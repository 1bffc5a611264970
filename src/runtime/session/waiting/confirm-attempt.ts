import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { Limits } from '#contracts/lease.ts'
import { pausesOf, type RunRow } from '../storage/stored-rows.ts'
import type { OutsideParts } from './outside.ts'
import { conflict } from './pauses.ts'
import type { AttemptSettlement, ConfirmRequest, ConfirmedAttempt } from '../types/session-api.ts'
import type { Runs } from '../runs/runs.ts'
import type { SessionStore } from '../storage/store.ts'
import type { Todo } from '../storage/todo.ts'

export interface LimitsChange {
  /** Each replaces the limit of agent, request and session; an absent limit stays. */
  readonly limits: Partial<Limits>
  /** An operator may allow more than the day has. */
  readonly isOperator: boolean
}

/**
 * Raises or lowers the limits of an unfinished run, for its next steps. A run that waits for a raise goes on as soon
 * as its next step fits. The same limits again change nothing, unless the run waits with them. Throws
 * `request_conflict`.
 */
export function changeLimits(
  row: RunRow,
  { limits, isOperator }: LimitsChange,
  { store, runs }: Pick<OutsideParts, 'store' | 'runs'>,
): void {
  const { lineage } = row.submission
  if (lineage) {
    const { parentRun, parentSession } = lineage
    const message =
      'What this run may spend is its caller’s to give: ' +
      `change the limits of ${parentRun} in ${parentSession}.`
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
  runs.change(row, { changed: { limits: merged, count, ...defined({ byOperator }) } })
  runs.wake(row.id)
}

const textOf = (limits: Partial<Limits> = {}): string =>
  JSON.stringify(Object.entries(limits).toSorted(([one], [other]) => one.localeCompare(other)))

interface ConfirmParts {
  readonly store: SessionStore
  readonly runs: Pick<Runs, 'change'>
  readonly todo: Todo
  readonly session: string
}

/**
 * Settles an attempt that may have reached a provider: the unspent part goes back to its run, to its session and, by an
 * outbox entry, to the day. The same settlement again changes nothing. Refused while the run is not over: the run books
 * its spending at its end, beside the correction. Throws `request_not_found`, `request_conflict` or `request_invalid`.
 */
export function confirmAttempt(
  row: RunRow,
  request: ConfirmRequest,
  { store, runs, todo, session }: ConfirmParts,
): ConfirmedAttempt {
  const { id } = request
  const { lineage, principal, agent } = row.submission
  const known = row.confirmed?.[id]
  const settlement = 'settlement' in request ? request.settlement : settle(row, request, store)
  if (known && !isSame(known, settlement))
    throw new IsolaError('request_conflict', 'This attempt was settled otherwise already.')
  if (!store.final(row.order)) {
    const what =
      'settlement' in request ? 'A run above that of this attempt' : 'The run of this attempt'
    throw new IsolaError(
      'request_conflict',
      `${what} is not over (${row.id} in ${session}). Wait for it, or cancel it first.`,
    )
  }
  if (!known && !request.isLook)
    store.together(() => {
      runs.change(row, { confirmed: { ...row.confirmed, [id]: settlement } })
      if (!lineage) todo.add({ kind: 'settle', session, run: row.id })
    })
  return {
    settlement,
    isNew: known === undefined,
    principal,
    agent,
    ...(lineage && { above: { session: lineage.parentSession, run: lineage.parentRun } }),
  }
}

function settle(
  { order }: RunRow,
  { seq, spent }: Extract<ConfirmRequest, { readonly seq: number }>,
  store: SessionStore,
): AttemptSettlement {
  const events = store.turns(order).flatMap((turn) => turn.events)
  const event = events.find((one) => one.seq === seq)
  if (event?.type !== 'model_failed' || event.data.bookedTokens === 0)
    throw new IsolaError('request_not_found', 'There is no such attempt.', { param: 'id' })
  const held = { tokens: event.data.bookedTokens, costNanoUsd: event.data.bookedCostNanoUsd }
  const settled = { ...held, ...spent }
  for (const [param, most] of [
    ['tokens', held.tokens],
    ['costNanoUsd', held.costNanoUsd],
  ] as const) {
    if (settled[param] <= most) continue
    const field = param === 'tokens' ? 'tokens' : 'costUsd'
    const message = `${field}: is more than the ${field === 'tokens' ? most : most / 1e9} that the attempt holds.`
    throw new IsolaError('request_invalid', message, { param: field })
  }
  return { held, spent: settled }
}

const isSame = ({ spent }: AttemptSettlement, other: AttemptSettlement): boolean =>
  spent.tokens === other.spent.tokens && spent.costNanoUsd === other.spent.costNanoUsd
