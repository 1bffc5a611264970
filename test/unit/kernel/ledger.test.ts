import { describe, expect, it } from 'vitest'
import { defaultAgentLimits } from '#contracts/limits.ts'
import { unlimited, zeroAmount, type Amount, type Limits } from '#contracts/lease.ts'
import { type Lease } from '../../../src/runtime/kernel/types/lease.ts'
import type { Ledger } from '#runtime/kernel/types/lease.ts'
import { createLedger, createLedgerWithin } from '../../../src/runtime/kernel/leases/ledger.ts'
import { leaseFor, shareOf } from '../../../src/runtime/kernel/leases/share.ts'
import { toolEntry } from '../../fakes/kernel.ts'
import { createRandom } from '../../fakes/random.ts'

const limits: Limits = {
  ...defaultAgentLimits,
  maxTokens: 1_000,
  maxTurns: 20,
  maxToolCalls: 20,
  maxChildren: 5,
}

const isWithin = (ledger: Ledger) => {
  const settled = ledger.settled()
  const reserved = ledger.reserved()
  return (
    settled.tokens + reserved.tokens <= ledger.limits.maxTokens &&
    settled.turns + reserved.turns <= ledger.limits.maxTurns &&
    settled.toolCalls + reserved.toolCalls <= ledger.limits.maxToolCalls &&
    settled.children + reserved.children <= ledger.limits.maxChildren
  )
}

describe('the lease ledger', () => {
  it('refuses what does not fit and names the dimension, what was asked and what is left', () => {
    const ledger = createLedger(limits)
    expect(ledger.reserve({ tokens: 900 }).ok).toBe(true)
    expect(ledger.reserve({ tokens: 101 })).toEqual({
      ok: false,
      refusal: { code: 'lease_tokens', asked: 101, left: 100 },
    })
    expect(ledger.reserve({ tokens: 100 }).ok).toBe(true)
  })

  it('gives back what was reserved and not used', () => {
    const ledger = createLedger(limits)
    const taken = ledger.reserve({ tokens: 600 })
    if (taken.ok) ledger.settle(taken.lease, { tokens: 10 })
    expect(ledger.left().tokens).toBe(990)
  })

  it('settles a lease once', () => {
    const ledger = createLedger(limits)
    const taken = ledger.reserve({ tokens: 600 })
    if (!taken.ok) throw new Error('refused')
    ledger.settle(taken.lease, { tokens: 10 })
    // Nothing is booked of it, so it is no overrun either.
    expect(ledger.settle(taken.lease, { tokens: 700 })).toBe(false)
    expect(ledger.settled().tokens).toBe(10)
    expect(ledger.reserved()).toEqual(zeroAmount)
  })

  it('refuses fractions, negatives and what is not a number', () => {
    const ledger = createLedger(limits)
    for (const tokens of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(ledger.reserve({ tokens }).ok).toBe(false)
    }
    expect(ledger.reserved()).toEqual(zeroAmount)
  })

  it('says so when more was spent than reserved, books it and refuses the next', () => {
    const ledger = createLedger(limits)
    const taken = ledger.reserve({ tokens: 600 })
    if (!taken.ok) throw new Error('refused')
    expect(ledger.settle(taken.lease, { tokens: 1_100 })).toBe(true)
    expect(ledger.left().tokens).toBe(0)
    expect(ledger.reserve({ tokens: 1 }).ok).toBe(false)
  })

  it('E1: gives no more of what was booked without a reservation', () => {
    const ledger = createLedger({ ...limits, maxPlatformNanoUsd: 90 })
    ledger.charge({ tokens: 400, platformNanoUsd: 60 })
    expect(ledger.settled()).toMatchObject({ tokens: 400, platformNanoUsd: 60 })
    expect(ledger.left()).toMatchObject({ tokens: 600, platformNanoUsd: 30 })
    expect(ledger.reserve({ tokens: 601 }).ok).toBe(false)
  })

  it('does not call it an overrun where nothing is limited', () => {
    const ledger = createLedger({ ...limits, maxCostNanoUsd: unlimited })
    const taken = ledger.reserve({ tokens: 1 })
    if (!taken.ok) throw new Error('refused')
    expect(ledger.settle(taken.lease, { tokens: 1, costNanoUsd: 5 })).toBe(false)
  })

  it('N6: keeps settled + reserved within the limit at every moment, over 200 random histories', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const random = createRandom(seed)
      const ledger = createLedger(limits)
      const open: Lease[] = []
      for (let step = 0; step < 200; step += 1) {
        if (random.chance(0.6)) {
          const amount: Amount = {
            tokens: random.int(0, 200),
            costNanoUsd: 0,
            turns: random.int(0, 3),
            toolCalls: random.int(0, 3),
            children: random.int(0, 1),
          }
          const taken = ledger.reserve(amount)
          if (taken.ok) open.push(taken.lease)
        } else {
          const lease = open.splice(random.int(0, Math.max(0, open.length - 1)), 1)[0]
          if (lease)
            ledger.settle(lease, {
              tokens: random.int(0, lease.amount.tokens),
              turns: lease.amount.turns,
            })
        }
        expect(isWithin(ledger), `seed ${seed} step ${step}`).toBe(true)
      }
      for (const lease of open) ledger.settle(lease, {})
      expect(ledger.reserved()).toEqual(zeroAmount)
    }
  })
})

describe('the share of one call', () => {
  it('is what is left less one final model call, divided by the calls of the turn', () => {
    const share = shareOf({
      limits,
      left: { tokens: 1_000, costNanoUsd: 0, turns: 11, toolCalls: 12, children: 5 },
      finalCall: { tokens: 100, costNanoUsd: 0 },
      calls: 3,
      timeLeftMs: 5_000,
    })
    expect(share).toMatchObject({
      maxTokens: 300,
      maxTurns: 3,
      maxToolCalls: 3,
      maxChildren: 0,
      maxTimeMs: 5_000,
      maxConcurrency: 2,
    })
    expect(share.maxDepth).toBe(limits.maxDepth - 1)
  })

  it('E1: leaves the final model call its cost and its platform, where those are limited', () => {
    const asked = {
      left: { ...zeroAmount, costNanoUsd: 1_000, platformNanoUsd: 500 },
      finalCall: { tokens: 0, costNanoUsd: 400, platformNanoUsd: 100 },
      calls: 2,
      timeLeftMs: 1,
    }
    const limited = { ...limits, maxCostNanoUsd: 2_000, maxPlatformNanoUsd: 2_000 }
    expect(shareOf({ ...asked, limits: limited })).toMatchObject({
      maxCostNanoUsd: 300,
      maxPlatformNanoUsd: 200,
    })
    const free = { ...limits, maxCostNanoUsd: unlimited }
    expect(shareOf({ ...asked, limits: free })).toMatchObject({
      maxCostNanoUsd: unlimited,
      maxPlatformNanoUsd: unlimited,
    })
  })

  it('never adds up to more than what is left, whatever the numbers', () => {
    const random = createRandom(7)
    for (let round = 0; round < 500; round += 1) {
      const left = {
        tokens: random.int(0, 10_000),
        costNanoUsd: 0,
        turns: random.int(0, 50),
        toolCalls: random.int(0, 50),
        children: random.int(0, 20),
      }
      const calls = random.int(1, 9)
      const share = shareOf({
        limits,
        left,
        finalCall: { tokens: random.int(0, 500), costNanoUsd: 0 },
        calls,
        timeLeftMs: 1,
      })
      expect(share.maxTokens * calls).toBeLessThanOrEqual(left.tokens)
      expect(share.maxTurns * calls).toBeLessThanOrEqual(left.turns)
      if (share.maxToolCalls > 0)
        expect((1 + share.maxToolCalls) * calls).toBeLessThanOrEqual(left.toolCalls)
      if (share.maxChildren > 0)
        expect((1 + share.maxChildren) * calls).toBeLessThanOrEqual(left.children)
    }
  })
})

describe('what a call takes out of the lease of its run', () => {
  const share = { ...limits, maxCostNanoUsd: 5_000, maxPlatformNanoUsd: 700, maxChildren: 3 }
  const says = async () => ({ ok: true, output: '' }) as const

  it('E1: is all that it may spend, where it may itself spend: the platform too', () => {
    const spends = { ...defaultAgentLimits, maxTokens: 300, maxPlatformNanoUsd: 400 }
    const { limits: given, amount } = leaseFor(toolEntry('agent', says, { spends }), share)
    expect(given).toMatchObject({ maxTokens: 300, maxCostNanoUsd: 5_000, maxPlatformNanoUsd: 400 })
    expect(amount).toEqual({
      tokens: 300,
      costNanoUsd: 5_000,
      platformNanoUsd: 400,
      turns: given.maxTurns,
      toolCalls: 1 + given.maxToolCalls,
      children: 1 + 3,
    })
  })

  it('E1: is nothing of what is not limited', () => {
    const free = { ...share, maxCostNanoUsd: unlimited, maxPlatformNanoUsd: unlimited }
    const entry = toolEntry('agent', says, { spends: { ...free, maxTokens: 300 } })
    const { amount } = leaseFor(entry, free)
    expect(amount.costNanoUsd).toBe(0)
    expect(amount).not.toHaveProperty('platformNanoUsd')
  })

  it('E1: is itself and its fee, as far as there is that much, where it spends nothing else', () => {
    const feeOf = (feeNanoUsd?: number) =>
      leaseFor(toolEntry('search', says, feeNanoUsd ? { feeNanoUsd } : {}), share).amount
    expect(feeOf(4_000)).toEqual({ ...zeroAmount, toolCalls: 1, costNanoUsd: 4_000 })
    expect(feeOf(6_000).costNanoUsd).toBe(5_000)
    expect(feeOf().costNanoUsd).toBe(0)
  })
})

describe('a ledger within another', () => {
  it('E1: gives no more than either of them has, and both get back what was not spent', () => {
    const above = createLedger({ ...defaultAgentLimits, maxTokens: 100 })
    const [one, other] = [60, 80].map((maxTokens) =>
      createLedgerWithin(above, { ...defaultAgentLimits, maxTokens }),
    )
    expect(one!.reserve({ tokens: 61 })).toMatchObject({ ok: false, refusal: { left: 60 } })
    const lease = one!.reserve({ tokens: 60 })
    expect(other!.reserve({ tokens: 41 })).toMatchObject({ ok: false, refusal: { left: 40 } })
    expect(other!.reserved().tokens).toBe(0)
    if (!lease.ok) throw new Error('it fits')
    expect(one!.settle(lease.lease, { tokens: 70 })).toBe(true)
    expect([above.settled().tokens, above.reserved().tokens]).toEqual([70, 0])
    expect(other!.reserve({ tokens: 30 }).ok).toBe(true)
  })
})
