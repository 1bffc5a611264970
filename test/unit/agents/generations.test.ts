import { describe, expect, it } from 'vitest'
import { createDirectory } from '../../../src/features/agents/directory.ts'
import { createGenerations } from '../../../src/features/agents/generations.ts'
import { createAgentLoader } from '../../../src/features/agents/load-agent.ts'
import type { WiredAgents } from '../../../src/features/agents/wire-agents.ts'
import type { PluginSnapshot } from '../../../src/runtime/catalog/types/generation.ts'

const generation = (number: number): PluginSnapshot => ({
  number,
  pins: {},
  sources: {},
})
const lookups = {
  search: async () => [],
  runnable: async () => undefined,
  findable: async () => [],
  onFault: () => {},
}

function setUp(snapshot: () => Promise<PluginSnapshot>) {
  const wired: number[] = []
  const live = createGenerations({
    ...lookups,
    initial: generation(0),
    snapshot,
    latest: snapshot,
    around: snapshot,
    build: ({ number }) => {
      wired.push(number)
      return { number } as unknown as WiredAgents
    },
  })
  return { live, wired }
}

describe('the agents of the generation that is enabled', () => {
  it('are wired at the first request, not at each start', async () => {
    const { live, wired } = setUp(async () => generation(3))
    expect(wired).toEqual([])
    await live.inForce()
    await live.inForce()
    expect(wired).toEqual([3])
  })

  it('are those that ship with the deployment before any generation was heard of', () => {
    const { live, wired } = setUp(() => Promise.reject(new Error('away')))
    expect(live.last().wired).toEqual({ number: 0 })
    live.last()
    expect(wired).toEqual([0])
  })

  it('are looked for at this very moment by who names one that is not known: it may have come since', async () => {
    const [old, fresh] = [generation(3), generation(4)]
    const asked: string[] = []
    const build = ({ number }: PluginSnapshot) =>
      ({
        agents: new Map(number === 4 ? [['new', () => ({ number })]] : []),
        orchestrator: {},
        directory: { list: () => (number === 4 ? [{ name: 'new' }] : []) },
      }) as unknown as WiredAgents
    const generations = createGenerations({
      ...lookups,
      initial: generation(0),
      snapshot: async () => (asked.push('told'), old),
      latest: async () => (asked.push('now'), fresh),
      around: async () => old,
      build,
    })
    const directory = createDirectory({
      ...lookups,
      generations,
      load: createAgentLoader({
        ...generations,
        withOutside: (toolset) => toolset,
        count: { ofText: () => 0 },
      }),
      isSeen: async () => false,
      listRunnable: async () => [],
      tools: async () => [],
      toolNames: async () => [],
      around: async () => old,
      build,
    })
    await generations.refresh()
    expect(asked).toEqual(['told'])
    await generations.refresh('new')
    expect(directory.list()).toHaveLength(1)
    expect(await directory.load('new', {})).toEqual({ number: 4 })
    expect(asked).toEqual(['told', 'told', 'now', 'told'])
  })
})
