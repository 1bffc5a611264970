import type { Lease, Ledger } from '../types/lease.ts'
import { besides, minus } from '../types/lease.ts'
import type { Amount, LeaseRefusal, Limits } from '#contracts/lease.ts'
import { plus, unlimited, zeroAmount } from '#contracts/lease.ts'

const dimensions = [
  ['tokens', 'maxTokens', 'lease_tokens'],
  ['costNanoUsd', 'maxCostNanoUsd', 'lease_cost'],
  ['turns', 'maxTurns', 'lease_turns'],
  ['toolCalls', 'maxToolCalls', 'lease_tool_calls'],
  ['children', 'maxChildren', 'lease_children'],
  ['platformNanoUsd', 'maxPlatformNanoUsd', 'lease_platform'],
] as const satisfies readonly (readonly [keyof Amount, keyof Limits, LeaseRefusal['code']])[]

type All = Required<Amount>

/** An amount as limits: of every dimension that adds up. */
export const asLimits = (amount: All) =>
  Object.fromEntries(dimensions.map(([key, limit]) => [limit, amount[key]]))

export function createLedger(limits: Limits, alreadySettled: Amount = zeroAmount): Ledger {
  const open = new Map<string, Amount>()
  let settled = plus(zeroAmount, alreadySettled)
  let reserved = zeroAmount
  let count = 0

  const room = ([key, limit]: (typeof dimensions)[number]) =>
    besides(limits[limit] ?? unlimited, (settled[key] ?? 0) + (reserved[key] ?? 0))

  return {
    limits,
    // The rest of every dimension.
    left: () => Object.fromEntries(dimensions.map((one) => [one[0], room(one)])) as All,
    reserved: () => reserved,
    settled: () => settled,
    charge(spent) {
      settled = plus(settled, { ...zeroAmount, ...spent })
    },
    reserve(partial) {
      const amount = { ...zeroAmount, ...partial }
      for (const one of dimensions) {
        const [asked, left] = [amount[one[0]] ?? 0, room(one)]
        if (!Number.isSafeInteger(asked) || asked < 0 || asked > left)
          return { ok: false, refusal: { code: one[2], asked, left } }
      }
      count += 1
      const lease: Lease = { id: `lease_${count}`, amount }
      open.set(lease.id, amount)
      reserved = plus(reserved, amount)
      return { ok: true, lease }
    },
    settle(lease, partial) {
      const amount = open.get(lease.id)
      if (!amount) return false // settled already: a second outcome of the same call changes nothing
      open.delete(lease.id)
      const spent = { ...zeroAmount, ...partial }
      reserved = minus(reserved, amount)
      settled = plus(settled, spent)
      return dimensions.some(
        ([key, limit]) =>
          (limits[limit] ?? unlimited) < unlimited && (spent[key] ?? 0) > (amount[key] ?? 0),
      )
    },
  }
}

/** A ledger whose leases are taken from `above` as well. */
export function createLedgerWithin(above: Ledger, limits: Limits): Ledger {
  const own = createLedger(limits)
  const given = new Map<string, Lease>()
  return {
    ...own,
    reserve(amount) {
      const mine = own.reserve(amount)
      const reservation = mine.ok ? above.reserve(amount) : mine
      if (mine.ok && reservation.ok) given.set(mine.lease.id, reservation.lease)
      if (mine.ok && !reservation.ok) own.settle(mine.lease, {})
      return reservation.ok ? mine : reservation
    },
    settle(lease, spent) {
      const isOverdrawn = own.settle(lease, spent)
      const outer = given.get(lease.id)
      return (outer !== undefined && above.settle(outer, spent)) || isOverdrawn
    },
  }
}
