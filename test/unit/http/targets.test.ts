import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import type { HttpDeps } from '../../../src/http/deps.ts'
import { resolveTarget } from '../../../src/http/targets.ts'

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
} as unknown as HttpDeps

describe('a model that no list has', () => {
  it('F15: is answered while the agents without a plugin cannot be looked up', async () => {
    const target = await resolveTarget(deps, { id: 'operator' }, 'tiny-llama')
    expect(target).toEqual({ agent: 'orchestrator', model: 'tiny-llama' })
  })
})
