import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { roles } from '../../../src/contracts/role.ts'
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
