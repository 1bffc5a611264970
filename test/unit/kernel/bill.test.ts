import { describe, expect, it } from 'vitest'
import { amountText, billable } from '../../../src/runtime/kernel/leases/bill.ts'

describe('an amount that was refused', () => {
  it.each([
    ['lease_cost', 1_105_700_000, '$1.11'],
    ['lease_cost', 1_000_000, '$0.001'],
    ['lease_tokens', 150, '150'],
  ] as const)('is told in words for a person: %s', (code, amount, text) => {
    expect(amountText(code, amount)).toBe(text)
  })
})

describe('what a provider counted', () => {
  const counted = {
    inputTokens: 3,
    outputTokens: 4,
    costNanoUsd: 5,
    priced: true,
    estimated: false,
  }
  const reserved = { tokens: 100, costNanoUsd: 900 }

  it('is booked as it is where it is amounts', () => {
    expect(billable(counted, reserved)).toEqual(counted)
  })

  it.each([
    { inputTokens: Number.NaN },
    { inputTokens: 1.5 },
    { outputTokens: -1 },
    { costNanoUsd: Number.POSITIVE_INFINITY },
  ])('is the whole reservation, as an estimate, where it is none: %o', (wrong) => {
    expect(billable({ ...counted, ...wrong }, reserved)).toEqual({
      inputTokens: 100,
      outputTokens: 0,
      costNanoUsd: 900,
      priced: true,
      estimated: true,
    })
  })
})
