import { errorCode } from '#contracts/errors.ts'
import { besides, narrower, unlimited, type Limits, type Usage } from '#contracts/lease.ts'
import { onlyLimited } from '../types/only-limited.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { DayAmount } from '../types/principal.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import { keyedRunId, outcomeKey } from '../storage/ids.ts'
import { heldByRun, spentByFinished, spentByRun, stepOf } from '../log/spending.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'

export interface RunLimitsOptions {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly sessionId: () => string
  /** Takes what asking for the day makes the platform do. */
  readonly counted: PlatformCount['count']
}

/**
 * The lease of a run: what its agent may, what its submission allows, what its session has left, and what its
 * principal's day has (reserved there before anything is spent). A child's is out of its parent's already.
 * Throws `lease_…` or, when the day cannot be asked, `request_unavailable`.
 * @see docs/design.md section 6
 */
export async function leaseOf(
  row: RunRow,
  own: Limits,
  options: RunLimitsOptions,
): Promise<Limits> {
  const { store } = options
  const { lineage, limits, begunBy } = row.submission
  const asked = narrower(own, begunBy ? leftOfFirst(row, options) : onlyLimited(limits))
  const allowed = narrower(asked, onlyLimited(leftOfSession(row, store)))
  if (lineage) return allowed
  const { changed } = row
  const lease = { ...allowed, ...changed?.limits }
  const granted = await ofTheDay(row, lease, options)
  if (!changed?.byOperator) return granted
  // What an operator has allowed besides is not the day's to refuse; it is booked there all the same.
  const beyond = narrower(lease, { ...granted, ...changed.byOperator })
  return {
    ...granted,
    maxTokens: Math.max(granted.maxTokens, beyond.maxTokens),
    maxCostNanoUsd: Math.max(granted.maxCostNanoUsd, beyond.maxCostNanoUsd),
  }
}

/** What the limits of its session leave for a run; nothing if the session has none. */
export function leftOfSession(row: RunRow, store: SessionStore): Partial<Limits> {
  const limits = store.session()?.limits
  return limits ? leftOf(onlyLimited(limits), row, store) : {}
}

/** What of a lease the principal's day has. */
async function ofTheDay(row: RunRow, lease: Limits, options: RunLimitsOptions): Promise<Limits> {
  const asked = { tokens: lease.maxTokens, costNanoUsd: lease.maxCostNanoUsd }
  const { tokens, costNanoUsd } = await grantedByDay(row, asked, options)
  return narrower(lease, onlyLimited({ maxTokens: tokens, maxCostNanoUsd: costNanoUsd }))
}

async function grantedByDay(
  row: RunRow,
  asked: DayAmount,
  options: RunLimitsOptions,
): Promise<DayAmount> {
  const { runtime, store, sessionId, counted } = options
  const { principal, dayLimits, mayRaise } = row.submission
  const reserving = runtime.principals.reserve({
    principal,
    session: sessionId(),
    run: row.id,
    counted,
    asked,
    // What was settled before it goes on is late from here on.
    step: stepOf(row, store.turns(row.order), false) + 1,
    ...(dayLimits && { limits: dayLimits }),
  })
  return reserving.catch((error: unknown) => {
    const used = usedUpIn(error)
    // An operator has said that it goes on, or it was taken in and may wait until somebody does: it is not ended for that.
    const mayWait = row.changed?.byOperator ?? (mayRaise && store.findRun(row.id) !== undefined)
    if (!used || !mayWait || asked[used] === 0) throw error
    // Of what is not asked for nothing is refused, and of the other there may be some.
    return grantedByDay(row, { ...asked, [used]: 0 }, options)
  })
}

/** Of what a day has nothing more. */
function usedUpIn(error: unknown): keyof DayAmount | undefined {
  switch (errorCode(error)) {
    case 'lease_tokens':
      return 'tokens'
    case 'lease_cost':
      return 'costNanoUsd'
    default:
      return undefined
  }
}

/** What the other runs of the session leave of its limits. One run works at a time, so this holds until it ends. */
const leftOf = (limits: Limits, { order }: RunRow, store: SessionStore): Limits =>
  store
    .unfinishedRuns()
    .filter((row) => row.order !== order)
    .reduce((left, row) => leftBy(row, left, store), besideAmount(limits, spentByFinished(store)))

/**
 * What the limits of the run that somebody asked for leave, as they were changed since, once outcomes begin others:
 * those share them, or a limit of one dollar would be one for each.
 */
function leftOfFirst(row: RunRow, { store, sessionId, runtime }: RunLimitsOptions): Limits {
  const first = firstOf(row, store)
  const find = (above: RunRow, call: string) => {
    const key = outcomeKey(above.id, call)
    const of = { session: sessionId(), principal: above.submission.principal, key }
    return store.findRun(keyedRunId(of, runtime.sha256))
  }
  return [first, ...begunBelow(first, find)]
    .filter((other) => other.order !== row.order)
    .reduce(
      (left, other) => leftBy(other, left, store),
      onlyLimited({ ...first.submission.limits, ...first.changed?.limits }),
    )
}

/** The runs that outcomes of this one began, and of those: each is found by the call whose outcome it was. */
function begunBelow(
  row: RunRow,
  find: (above: RunRow, call: string) => RunRow | undefined,
): readonly RunRow[] {
  const calls = (row.inbox ?? []).flatMap(({ call, begins }) => (begins && call ? [call] : []))
  return calls.flatMap((call) => {
    const begun = find(row, call)
    return begun ? [begun, ...begunBelow(begun, find)] : []
  })
}

/** The run that somebody asked for, above those that outcomes began. */
function firstOf(row: RunRow, store: SessionStore): RunRow {
  const { begunBy } = row.submission
  const above = begunBy && store.findRun(begunBy.run)
  return above ? firstOf(above, store) : row
}

/** What one run leaves of limits. */
function leftBy(row: RunRow, limits: Limits, store: SessionStore): Limits {
  const turns = store.turns(row.order)
  return [spentByRun(row, turns), heldByRun(turns)].reduce(besideAmount, limits)
}

const besideAmount = (left: Limits, amount: Usage): Limits => ({
  ...left,
  maxTokens: besides(left.maxTokens, amount.tokens),
  maxCostNanoUsd: besides(left.maxCostNanoUsd, amount.costNanoUsd),
  maxPlatformNanoUsd: besides(left.maxPlatformNanoUsd ?? unlimited, amount.platformNanoUsd ?? 0),
  maxTurns: besides(left.maxTurns, amount.turns),
  maxToolCalls: besides(left.maxToolCalls, amount.toolCalls),
  maxChildren: besides(left.maxChildren, amount.children),
})
