import {
  besides,
  minus,
  plus,
  unlimited,
  zeroAmount,
  type Amount,
  type Lease,
  type LeaseRefusal,
  type Limits,
} from '#contracts/lease.ts'
import type { Ledger } from '#contracts/ledger.ts'

const dimensions = [
  ['tokens', 'maxTokens', 'lease_tokens'],
  ['costNanoUsd', 'maxCostNanoUsd', 'lease_cost'],
  ['turns', 'maxTurns', 'lease_turns'],
  ['toolCalls', 'maxToolCalls', 'lease_tool_calls'],
  ['children', 'maxChildren', 'lease_children'],
] as const satisfies readonly (readonly [keyof Amount, keyof Limits, LeaseRefusal['code']])[]

export function createLedger(limits: Limits, alreadySettled: Amount = zeroAmount): Ledger {
  const open = new Map<string, Amount>()
  let settled = plus(zeroAmount, alreadySettled)
  let reserved = zeroAmount
  let count = 0

  const left = (): Amount => ({
    tokens: besides(limits.maxTokens, settled.tokens + reserved.tokens),
    costNanoUsd: besides(limits.maxCostNanoUsd, settled.costNanoUsd + reserved.costNanoUsd),
    turns: besides(limits.maxTurns, settled.turns + reserved.turns),
    toolCalls: besides(limits.maxToolCalls, settled.toolCalls + reserved.toolCalls),
    children: besides(limits.maxChildren, settled.children + reserved.children),
  })

  return {
    limits,
    left,
    reserved: () => reserved,
    settled: () => settled,
    charge(spent) {
      settled = plus(settled, { ...zeroAmount, ...spent })
    },
    reserve(partial) {
      const amount = { ...zeroAmount, ...partial }
      const room = left()
      for (const [key, , code] of dimensions) {
        const asked = amount[key]
        if (!Number.isSafeInteger(asked) || asked < 0 || asked > room[key]) {
          return { ok: false, refusal: { code, asked, left: room[key] } }
        }
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
        ([key, limit]) => limits[limit] < unlimited && spent[key] > amount[key],
      )
    },
  }
}

/** A ledger each of whose leases is one of `above` as well. */
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
