import { errorCode } from '#contracts/errors.ts'
import { besides } from '#runtime/kernel/types/lease.ts'
import { narrower, unlimited, type Limits, type Usage } from '#contracts/lease.ts'
import { onlyLimited } from '../types/platform-usage.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { OwnLimits } from '#contracts/keys.ts'
import type { DayAmount } from '../types/principal.ts'
import type { SessionRuntime } from '../types/runtime.ts'
import type { OwnedLimit } from '../log/limit-text.ts'
import { heldByRun, spentByFinished, spentByRun, stepOf } from '../log/spending.ts'
import { keyedRunId, outcomeKey } from '../storage/ids.ts'
import type { SessionStore } from '../storage/store.ts'
import type { RunRow } from '../storage/stored-rows.ts'
import type { DayPieces } from './day-pieces.ts'

const limitNames = Object.keys(onlyLimited()) as (keyof Limits)[] // its own keys, by its type

const amountOf = (limits: Partial<Limits>, name: keyof Limits): number => limits[name] ?? unlimited

/**
 * The limits of a segment: each is what the segment was given, or less as soon as a caller lowers it. A raised limit
 * holds from the next segment on.
 */
export function limitsInForce(
  given: Limits,
  run: { readonly row: Pick<RunRow, 'changed'> },
): Limits {
  const now = (name: keyof Limits) =>
    Math.min(amountOf(given, name), amountOf(run.row.changed?.limits ?? {}, name))
  const getters = limitNames.map((name) => [name, { enumerable: true, get: () => now(name) }])
  return Object.defineProperties({}, Object.fromEntries(getters)) as Limits // with all its keys
}

/**
 * The agent's limits that an operator lowered since the run began, and the run's own changes without the changes that
 * these take back. A raise that a caller makes afterwards stays: that caller has seen the lower limit.
 *
 * @returns The fields to write into the run's row; `undefined` if the row has them already.
 */
export function loweredSince(
  { lowered: known = {}, changed }: Pick<RunRow, 'lowered' | 'changed'>,
  begun: Limits,
  now: Limits,
): Pick<RunRow, 'lowered' | 'changed'> | undefined {
  const names = limitNames.filter((name) => amountOf(now, name) < amountOf(begun, name))
  const lowered = Object.fromEntries(names.map((name) => [name, amountOf(now, name)]))
  const isKnown =
    Object.keys(known).length === names.length &&
    names.every((name) => known[name] === amountOf(now, name))
  if (isKnown) return undefined
  const fresh = names.filter((name) => amountOf(now, name) < amountOf(known, name))
  const kept = (limits: Partial<Limits>): Partial<Limits> =>
    Object.fromEntries(
      Object.entries(limits).filter(
        ([name, amount]) => !fresh.some((one) => one === name && amount > amountOf(now, one)),
      ),
    )
  return {
    lowered,
    ...(changed && {
      changed: {
        ...changed,
        limits: kept(changed.limits),
        ...(changed.byOperator && { byOperator: kept(changed.byOperator) }),
      },
    }),
  }
}

/** The agent's limits at the run's beginning, less what an operator lowered since. */
export const ownLimits = (begun: Limits, { lowered }: Pick<RunRow, 'lowered'>): Limits =>
  lowered ? narrower(begun, onlyLimited(lowered)) : begun

/**
 * Finds the owner of the limit in force, which is the one with the least amount. @param own The limits of the run's
 * agent.
 */
export function ownerOfLimit(
  row: RunRow,
  { store, own }: { readonly store: SessionStore; readonly own: Limits },
  { limit, allowed }: { readonly limit: keyof Limits; readonly allowed: number },
): OwnedLimit {
  const { changed, submission } = row
  const { lineage, limits, begunBy } = submission
  if (lineage) return { of: 'caller' }
  if (changed?.limits[limit] === allowed) return { of: 'run' }
  if (limits?.[limit] === allowed) return { of: 'request' }
  if (own[limit] === allowed) return { of: 'agent' }
  const session = store.session()?.limits?.[limit] ?? unlimited
  const left = onlyLimited(leftOfSession(row, store))[limit] ?? unlimited
  if (left === allowed)
    return { of: 'session', session: { allowed: session, spent: session - left } }
  // The rest of the request whose outcomes began this run, or the rest of the day.
  return { of: begunBy && limits?.[limit] !== undefined ? 'request' : 'day' }
}

interface LeaseParts {
  readonly runtime: SessionRuntime
  readonly store: SessionStore
  readonly identity: { readonly id: string }
  /** Counts the cost of the request to the day's ledger. */
  readonly meter: Pick<PlatformCount, 'count'>
  readonly pieces: DayPieces
}

/**
 * The lease of a run: the least of the limits of its agent, its submission, its session and its principal's day
 * (reserved there before anything is spent). A child's lease is part of its parent's. Throws `lease_…`, or
 * `request_unavailable` when the day's ledger cannot be asked.
 * @see docs/design.md section 6
 */
export async function leaseOf(row: RunRow, own: Limits, parts: LeaseParts): Promise<Limits> {
  const { store } = parts
  const { lineage, limits, begunBy } = row.submission
  const asked = narrower(own, begunBy ? leftOfFirst(row, parts) : onlyLimited(limits))
  const allowed = narrower(asked, onlyLimited(leftOfSession(row, store)))
  if (lineage) return allowed
  const { changed } = row
  const lease = { ...allowed, ...changed?.limits }
  const granted = await ofTheDay(row, lease, parts)
  if (!changed?.byOperator) return granted
  // An operator may allow more than the day has; the day's ledger books it all the same.
  const beyond = narrower(lease, { ...granted, ...changed.byOperator })
  return {
    ...granted,
    maxTokens: Math.max(granted.maxTokens, beyond.maxTokens),
    maxCostNanoUsd: Math.max(granted.maxCostNanoUsd, beyond.maxCostNanoUsd),
  }
}

/** The part of a lease that the principal's day has. */
async function ofTheDay(row: RunRow, lease: Limits, parts: LeaseParts): Promise<Limits> {
  const asked = { tokens: lease.maxTokens, costNanoUsd: lease.maxCostNanoUsd }
  const { tokens, costNanoUsd } = await grantedByDay(row, asked, parts)
  return narrower(lease, onlyLimited({ maxTokens: tokens, maxCostNanoUsd: costNanoUsd }))
}

async function grantedByDay(row: RunRow, asked: DayAmount, parts: LeaseParts): Promise<DayAmount> {
  const { runtime, store, identity, meter, pieces } = parts
  const { principal, dayLimits, mayRaise } = row.submission
  // A settlement from before the run goes on is late from here on.
  const turns = store.turns(row.order)
  const step = stepOf(row, turns, false) + 1
  const isNew = step === 1 && turns.length === 0
  const held = isNew ? await ofPiece(row, asked, parts) : {}
  if (held.amount) return held.amount
  const piece = pieces.of(row.id)
  const back = pieces.drop()
  const limits = held.limits ?? dayLimits
  const reserving = runtime.principals.reserve({
    principal,
    session: identity.id,
    run: row.id,
    counted: meter.count,
    asked,
    step,
    ...(limits && { limits }),
    ...(piece !== undefined && { piece }),
    ...(back !== undefined && { back }),
  })
  return reserving.catch((error: unknown) => {
    const used = usedUpIn(error)
    // An operator has let the run go on, or the run was accepted and may wait for a raise: the day does not end it.
    const mayWait = row.changed?.byOperator ?? (mayRaise && store.findRun(row.id) !== undefined)
    if (!used || !mayWait || asked[used] === 0) throw error
    // The ledger refuses nothing of an amount that is not asked for, and may have some of the other.
    return grantedByDay(row, { ...asked, [used]: 0 }, parts)
  })
}

/**
 * The reservation that the session made ahead, for a run that has reserved nothing before; otherwise the limits that
 * were looked up.
 */
async function ofPiece(
  row: RunRow,
  asked: DayAmount,
  { runtime, pieces }: LeaseParts,
): Promise<{ readonly amount?: DayAmount; readonly limits?: OwnLimits }> {
  const { principals, clock } = runtime
  const { principal, dayLimits } = row.submission
  if (!principals.limitsOf) return {}
  const limits = await principals.limitsOf(principal, dayLimits)
  if (limits.tokens >= unlimited && limits.costNanoUsd >= unlimited) {
    pieces.without(row.id)
    return { amount: asked }
  }
  const asOfMs = clock.nowMs()
  const day = new Date(asOfMs).toISOString().slice(0, 10)
  const amount = pieces.take({ run: row.id, asked, limits, day })
  return amount ? { amount } : { limits: { ...limits, asOfMs } }
}

/** The amount of which the day has nothing left. */
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

/** The part of the session's limits that its other runs leave; empty for a session without limits. */
function leftOfSession(row: RunRow, store: SessionStore): Partial<Limits> {
  const limits = store.session()?.limits
  if (!limits) return {}
  // One run works at a time, so this holds until the run ends.
  return store
    .unfinishedRuns()
    .filter(({ order }) => order !== row.order)
    .reduce(
      (left, other) => leftBy(other, left, store),
      besideAmount(onlyLimited(limits), spentByFinished(store)),
    )
}

/**
 * The part of the first run's limits, as they are now, that it and the runs begun by its outcomes leave. They share
 * these limits: otherwise a limit of one dollar would be one dollar for each.
 */
function leftOfFirst(row: RunRow, { store, identity, runtime }: LeaseParts): Limits {
  const first = firstOf(row, store)
  const find = (above: RunRow, call: string) => {
    const key = outcomeKey(above.id, call)
    const of = { session: identity.id, principal: above.submission.principal, key }
    return store.findRun(keyedRunId(of, runtime.sha256))
  }
  return [first, ...begunBelow(first, find)]
    .filter((other) => other.order !== row.order)
    .reduce(
      (left, other) => leftBy(other, left, store),
      onlyLimited({ ...first.submission.limits, ...first.changed?.limits }),
    )
}

/** The runs that outcomes of this run began, directly or through others: each is found by the call of its outcome. */
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

/** The run that a caller asked for, above the runs that outcomes began. */
function firstOf(row: RunRow, store: SessionStore): RunRow {
  const { begunBy } = row.submission
  const above = begunBy && store.findRun(begunBy.run)
  return above ? firstOf(above, store) : row
}

/** The rest of these limits after the spending and the reservations of one run. */
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
