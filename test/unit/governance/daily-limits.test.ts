import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { unlimited } from '../../../src/contracts/lease.ts'
import { dailyCostUsd, dailyTokens } from '../../../src/governance/daily-limits.ts'

const schema = z.object({ tokens: dailyTokens, cost: dailyCostUsd })

describe('the settings of a day', () => {
  it.each([
    [{}, unlimited, unlimited],
    [{ tokens: '', cost: ' ' }, unlimited, unlimited],
    [{ tokens: '2000000', cost: '25' }, 2_000_000, 25_000_000_000],
    [{ tokens: 2_000_000, cost: 2.5 }, 2_000_000, 2_500_000_000],
    [{ tokens: '0', cost: '0' }, 0, 0],
    [{ cost: '0.1' }, unlimited, 100_000_000],
    [{ cost: '1234.123456789' }, unlimited, 1_234_123_456_789],
  ])('reads %j', (settings, tokens, cost) => {
    expect(schema.parse(settings)).toEqual({ tokens, cost })
  })

  it.each([
    [{ tokens: 'many' }, 'must be a whole number'],
    [{ tokens: '-1' }, 'must be a whole number'],
    [{ tokens: '1e6' }, 'must be a whole number'],
    [{ tokens: 1.5 }, 'must be a whole number'],
    [{ tokens: true }, 'must be a whole number'],
    [{ cost: '$5' }, 'must be an amount of US dollars'],
    [{ cost: '-5' }, 'must be an amount of US dollars'],
    [{ cost: '1,5' }, 'must be an amount of US dollars'],
    [{ cost: '0.0000000001' }, 'must be an amount of US dollars'],
    [{ cost: Number.NaN }, 'must be an amount of US dollars'],
  ])('refuses %j', (settings, message) => {
    expect(schema.safeParse(settings).error?.issues[0]?.message).toContain(message)
  })
})
