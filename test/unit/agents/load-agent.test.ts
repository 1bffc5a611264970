import { describe, expect, it } from 'vitest'
import { createAgentLoader } from '../../../src/features/agents/load-agent.ts'
import type { ReadyAgent } from '../../../src/runtime/session/types/runtime.ts'
import type { RunnableAgent } from '../../../src/contracts/manifest/agent-definition.ts'
import type { Toolset } from '../../../src/contracts/tool.ts'
import { agentSpec, toolsetOf } from '../../fakes/kernel.ts'

const prepared = (id: string) => (): ReadyAgent => ({
  spec: agentSpec({}, { id }),
  toolset: toolsetOf([]),
})

/** One generation with the orchestrator and a plugin's agent; each principal may run the stored agent `writer`. */
function setUp() {
  const withStored = (toolset: Toolset, principal: string) => ({ ...toolset, finder: principal })
  const of = (id: string) => ({ prepareRun: prepared(id), withheld: [], unknown: [] })
  const stored = {
    find: async (id: string) => (id === 'writer' ? of(id) : undefined),
    prepare: async ({ definition }: RunnableAgent) => of(definition.id),
    withStored,
  }
  const orchestrator = { isThere: async () => true, as: () => prepared('orchestrator') }
  const agents = new Map(['orchestrator', 'coder'].map((id) => [id, prepared(id)]))
  const reads: string[] = []
  const read = (which: string) => async () => {
    reads.push(which)
    return { wired: { agents, orchestrator }, stored }
  }
  const load = createAgentLoader({
    inForce: read('in force'),
    newest: read('newest'),
    withOutside: (toolset) => toolset,
    count: { ofText: () => 0 },
  })
  return { load, reads }
}

describe('loading an agent', () => {
  it('Y15: adds the stored agents of its principal for the orchestrator alone', async () => {
    const { load } = setUp()
    const use = { principal: 'ada' }
    expect((await load('orchestrator', {}, use))?.toolset.finder).toBe('ada')
    expect((await load('orchestrator', {}))?.toolset.finder).toBeUndefined()
    for (const agent of ['coder', 'writer'])
      expect((await load(agent, {}, use))?.toolset.finder).toBeUndefined()
  })

  it('takes a stored agent for a principal only', async () => {
    const { load } = setUp()
    expect((await load('writer', {}, { principal: 'ada' }))?.spec.id).toBe('writer')
    expect(await load('writer', {})).toBeUndefined()
  })

  it('takes the definition of a request before an agent of that name', async () => {
    const { load } = setUp()
    const definition = { id: 'on-demand' } as RunnableAgent['definition']
    const onDemand = { definition, version: 0, hash: 'h', granted: [], keepMs: 1 }
    const use = { principal: 'ada' }
    expect((await load('coder', { onDemand }, use))?.spec.id).toBe('on-demand')
    expect((await load('coder', { onDemand }))?.spec.id).toBe('coder')
  })

  it('reads the newest generation only for an agent that the one in force lacks', async () => {
    const { load, reads } = setUp()
    await load('coder', {})
    expect(reads).toEqual(['in force'])
    expect(await load('nobody', {}, { principal: 'ada' })).toBeUndefined()
    expect(reads).toEqual(['in force', 'in force', 'newest'])
  })
})
