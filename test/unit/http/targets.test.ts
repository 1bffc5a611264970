import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { resolveTarget, type Targets } from '../../../src/platform/routes/targets.ts'

/** A server that takes any name, and a database that is away. */
const deps = {
  models: {
    list: () => [],
    provider: { select: (model: string) => ({ provider: 'local', model, substituted: false }) },
  },
  agents: {
    list: () => [{ name: 'orchestrator' }],
    runnable: async () => {
      throw new IsolaError('request_unavailable', 'The database is away.')
    },
  },
} as unknown as Targets

describe('a model that no list has', () => {
  it('F15: is answered while the agents without a plugin cannot be looked up', async () => {
    const target = await resolveTarget(deps, { id: 'operator' }, 'tiny-llama')
    expect(target).toEqual({ agent: 'orchestrator', model: 'tiny-llama' })
  })

  it('I8: is not answered in the name of an agent that waits or is put aside, but for who may not know of it', async () => {
    const isSeen = async (principal: string, id: string) => principal === 'anna' && id === 'notes'
    const runnable = async () => undefined
    const known = { ...deps, agents: { ...deps.agents, runnable, isSeen } }
    await expect(resolveTarget(known, { id: 'anna' }, 'notes')).rejects.toMatchObject({
      code: 'request_model_not_found',
    })
    for (const reach of [{ id: 'ben' }, { id: 'anna', agents: ['orchestrator'] }])
      expect(await resolveTarget(known, reach, 'notes')).toMatchObject({ model: 'notes' })
  })
})
