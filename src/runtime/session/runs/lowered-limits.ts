import { narrower, unlimited, type Limits } from '#contracts/lease.ts'
import { onlyLimited } from '../types/only-limited.ts'
import type { RunRow } from '../storage/stored-rows.ts'

const amountOf = (limits: Partial<Limits>, name: keyof Limits): number => limits[name] ?? unlimited

/**
 * What the agent of a run that is taken up may spend less than when the run was begun, and what of the run's own changes
 * that takes back: a limit that was raised before the operator lowered it. One that is raised afterwards holds, since
 * whoever raised it has seen the lower one.
 *
 * @returns What is to be written into the run's row; `undefined` if that is there already.
 */
export function loweredSince(
  { lowered: known = {}, changed }: Pick<RunRow, 'lowered' | 'changed'>,
  begun: Limits,
  now: Limits,
): Pick<RunRow, 'lowered' | 'changed'> | undefined {
  const names = (Object.keys(onlyLimited()) as (keyof Limits)[]) // its own keys, by its type
    .filter((name) => amountOf(now, name) < amountOf(begun, name))
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

/** The limits of an agent as its run was begun with them, less what was lowered since. */
export const ownLimits = (begun: Limits, { lowered }: Pick<RunRow, 'lowered'>): Limits =>
  lowered ? narrower(begun, onlyLimited(lowered)) : begun
