import { describe, expect, it } from 'vitest'
import type { AgentCatalog } from '../../../src/agents/agent-directory.ts'
import { createLiveDirectory } from '../../../src/agents/live-directory.ts'
import type { PluginSnapshot } from '../../../src/contracts/generation.ts'

const generation = (number: number): PluginSnapshot => ({
  number,
  pins: {},
  sources: {},
})

function setUp(snapshot: () => Promise<PluginSnapshot>) {
  const wired: number[] = []
  const live = createLiveDirectory({
    initial: generation(0),
    snapshot,
    lastKnown: () => undefined,
    around: snapshot,
    search: async () => [],
    tools: async () => [],
    onFault: () => {},
    build: ({ number }) => {
      wired.push(number)
      return { number } as unknown as AgentCatalog
    },
  })
  return { live, wired }
}

describe('the agents of the generation that is enabled', () => {
  it('are wired when somebody asks, not at each start', async () => {
    const { live, wired } = setUp(async () => generation(3))
    expect(wired).toEqual([])
    await live.now()
    await live.now()
    expect(wired).toEqual([3])
  })

  it('are those that ship with the deployment before any generation was heard of', () => {
    const { live, wired } = setUp(() => Promise.reject(new Error('away')))
    expect(live.current()).toEqual({ number: 0 })
    live.current()
    expect(wired).toEqual([0])
  })
})
