import { describe, expect, test } from 'vitest'
import { createSearchIndex } from '../../../src/catalog/search/search-index.ts'
import { createScratchpad } from '../../../src/memory/scratchpad.ts'
import { createMemoryStorage } from '../../fakes/session-gateway.ts'

const create = () =>
  createScratchpad({ storage: createMemoryStorage(), buildIndex: createSearchIndex })

describe('I21: the scratchpad', () => {
  test('answers the entry it kept and reads newest last', async () => {
    const memory = create()
    const first = await memory.append('one')
    await memory.append('two')
    expect(first).toMatchObject({ text: 'one' })
    expect((await memory.read()).map(({ text }) => text)).toEqual(['one', 'two'])
    expect((await memory.read({ limit: 1 })).map(({ text }) => text)).toEqual(['two'])
  })

  test('finds by words, best first, and nothing for words that are not there', async () => {
    const memory = create()
    for (const text of [
      'The deployment failed on Friday',
      'Lunch is at noon',
      'Deployment needs the key',
    ])
      await memory.append(text)
    expect((await memory.search('failed deployments')).map(({ text }) => text)[0]).toBe(
      'The deployment failed on Friday',
    )
    expect(await memory.search('zebra')).toEqual([])
    expect(await memory.search('deployment', { limit: 1 })).toHaveLength(1)
  })

  test('is empty after clear', async () => {
    const memory = create()
    await memory.append('one')
    await memory.clear()
    expect(await memory.read()).toEqual([])
  })

  test.each([
    ['an empty note', ' '],
    ['a long one', 'x'.repeat(8_001)],
    ['no text', 7 as unknown as string],
  ])('refuses %s', async (_what, text) => {
    await expect(create().append(text)).rejects.toMatchObject({ code: 'tool_failed' })
  })
})
