import { describe, expect, it } from 'vitest'
import { amountText } from '../../../src/leases/bill.ts'

describe('an amount that was refused', () => {
  it.each([
    ['lease_cost', 1_105_700_000, '$1.11'],
    ['lease_cost', 1_000_000, '$0.001'],
    ['lease_tokens', 150, '150'],
  ] as const)('is told in words for a person: %s', (code, amount, text) => {
    expect(amountText(code, amount)).toBe(text)
  })
})
