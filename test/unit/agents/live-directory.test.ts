import { describe, expect, it } from 'vitest'
import type { AgentCatalog } from '../../../src/features/agents/agent-directory.ts'
import { createLiveDirectory } from '../../../src/features/agents/live-directory.ts'
import type { PluginSnapshot } from '../../../src/runtime/catalog/types/generation.ts'

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
    latest: snapshot,
    around: snapshot,
    search: async () => [],
    tools: async () => [],
    toolNames: async () => [],
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

  it('are looked for at this very moment by who names one that is not known: it may have come since', async () => {
    const [old, fresh] = [generation(3), generation(4)]
    const asked: string[] = []
    const live = createLiveDirectory({
      initial: generation(0),
      snapshot: async () => (asked.push('told'), old),
      latest: async () => (asked.push('now'), fresh),
      around: async () => old,
      search: async () => [],
      tools: async () => [],
      toolNames: async () => [],
      onFault: () => {},
      build: ({ number }) =>
        ({
          directory: {
            list: () => (number === 4 ? [{ name: 'new' }] : []),
            load: async (name: string) => (name === 'new' && number === 4 ? { number } : undefined),
          },
        }) as unknown as AgentCatalog,
    })
    await live.refresh()
    expect(asked).toEqual(['told'])
    await live.refresh('new')
    expect(live.directory.list()).toHaveLength(1)
    expect(await live.directory.load('new', {})).toEqual({ number: 4 })
    expect(asked).toEqual(['told', 'told', 'now', 'told'])
  })
})
