import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { unlimited } from '../../../src/contracts/lease.ts'
import type { Rights } from '../../../src/contracts/keys.ts'
import { createLimitsOf } from '../../../src/features/access/limits-of.ts'

const nowMs = 1_790_000_000_000
const defaults = { tokens: 1_000, costNanoUsd: unlimited }

function open(rightsOf: (principal: string) => Promise<Rights | undefined>) {
  const asked: string[] = []
  const limitsOf = createLimitsOf({
    defaults: () => defaults,
    keys: { rightsOf: (principal) => (asked.push(principal), rightsOf(principal)) },
    clock: { nowMs: () => nowMs },
  })
  return { limitsOf, asked }
}
const nobody = async () => undefined
const alice = async (): Promise<Rights> => ({ role: 'user', limits: { costNanoUsd: 5 } })

describe('the limits of a day', () => {
  it('E1: are what the deployment sets for the operator key, without a look-up', () => {
    const { limitsOf, asked } = open(alice)
    expect([limitsOf('operator'), asked]).toEqual([defaults, []])
  })

  it("E1: are the principal's own where it has some, else what the deployment sets", async () => {
    expect(await open(alice).limitsOf('alice')).toEqual({ tokens: 1_000, costNanoUsd: 5 })
    expect(await open(nobody).limitsOf('alice')).toEqual(defaults)
  })

  it('E1: may be more than what the deployment sets, and nothing at all', async () => {
    const limits = { tokens: 9_000, costNanoUsd: 0 }
    const { limitsOf } = open(async () => ({ role: 'user', limits }))
    expect(await limitsOf('alice')).toEqual(limits)
  })

  it('are taken from the request that was just checked', async () => {
    const { limitsOf, asked } = open(alice)
    const known = { tokens: 7, asOfMs: nowMs - 4_999 }
    expect(await limitsOf('alice', known)).toEqual({ tokens: 7, costNanoUsd: unlimited })
    expect(asked).toEqual([])
  })

  it.each([5_000, 86_400_000, -1])(
    'E1: are looked up anew for a run that was asked for %i ms ago: they may have changed',
    async (agoMs) => {
      const { limitsOf, asked } = open(alice)
      const known = { tokens: 7, asOfMs: nowMs - agoMs }
      expect(await limitsOf('alice', known)).toEqual({ tokens: 1_000, costNanoUsd: 5 })
      expect(asked).toEqual(['alice'])
    },
  )

  it('F15: are what was known while the database is away, and unknown if nothing was', async () => {
    const away = new IsolaError('request_unavailable', 'Later.')
    const { limitsOf } = open(() => Promise.reject(away))
    const known = { tokens: 7, asOfMs: nowMs - 60_000 }
    expect(await limitsOf('alice', known)).toMatchObject({ tokens: 7 })
    await expect(limitsOf('alice')).rejects.toBe(away)
  })

  it('E1: are unknown when the table cannot be read for another reason', async () => {
    const { limitsOf } = open(() => Promise.reject(new Error('no such table')))
    const known = { tokens: 7, asOfMs: 0 }
    await expect(limitsOf('alice', known)).rejects.toThrow('no such table')
  })
})
