import { IsolaError } from '#contracts/errors.ts'
import type { AttemptSettlement, ConfirmRequest, ConfirmedAttempt } from '../types/unconfirmed.ts'
import type { Runs } from '../runs/runs.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { Todo } from '../storage/todo.ts'

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
