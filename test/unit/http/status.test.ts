import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { unlimited } from '../../../src/contracts/lease.ts'
import { roles } from '../../../src/contracts/keys.ts'
import { createFakeApp } from '../../fakes/http-deps.ts'

describe('GET /api/status', () => {
  it.each(roles)('tells a key with the role %s who it is and what its day has', async (role) => {
    const authenticate = async () => ({ id: 'ann', role })
    const { send } = createFakeApp({ deps: { authenticate } })
    const response = await send('/api/status')
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        version: '0.1.0',
        principal: 'ann',
        role,
        model: 'scripted/one',
        day: {
          limits: { tokens: 1_000, costUsd: null },
          settled: { tokens: 100, costUsd: 2.5 },
          reserved: { tokens: 40, costUsd: 0 },
        },
      },
    ])
  })

  it('a day without a limit says what the record has, not nothing', async () => {
    const none = { tokens: unlimited, costNanoUsd: unlimited }
    const zero = { tokens: 0, costNanoUsd: 0 }
    const day = { day: '2026-09-21', limits: none, settled: zero, reserved: zero, openRuns: 0 }
    const amounts = { runs: 1, modelCalls: 1, toolCalls: 0, inputTokens: 70, outputTokens: 7 }
    const total = { ...amounts, tokens: 77, costNanoUsd: 5e8, platform: {}, platformNanoUsd: 0 }
    const sum = async () => ({ rows: [], total })
    const incidents = { incidents: async () => [], clearIncident: async () => {} }
    const principals = { ...incidents, usage: async () => day }
    const response = await createFakeApp({ deps: { principals, usage: { sum } } }).send(
      '/api/status',
    )
    expect(await response.json()).toMatchObject({ day: { settled: { tokens: 77, costUsd: 0.5 } } })
  })

  it('says the rest where the day cannot be asked for', async () => {
    const principals = {
      usage: async () => {
        throw new IsolaError('request_unavailable', 'Not now.')
      },
      incidents: async () => [],
      clearIncident: async () => {},
    }
    const response = await createFakeApp({ deps: { principals } }).send('/api/status')
    expect(await response.json()).toMatchObject({ principal: 'operator', day: null })
  })
})
