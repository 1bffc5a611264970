import { describe, expect, test } from 'vitest'
import { IsolaError } from '#contracts/errors.ts'
import { createSearchIndex } from '../../../src/runtime/catalog/search/search-index.ts'
import { createScratchpad } from '../../../src/features/memory/scratchpad.ts'
import { createMemoryStorage } from '../../fakes/session-gateway.ts'

const bounds = { space: 'memory scribe findings', max_items: 3, max_chars: 100 }
const create = (storage = createMemoryStorage()) =>
  createScratchpad({
    storage,
    buildIndex: createSearchIndex,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    async streamOf(name) {
      if (name === 'findings') return bounds
      throw new IsolaError('tool_failed', 'stream: this agent has findings.')
    },
  })

describe('I21: the scratchpad', () => {
  test('answers the entry it kept and reads newest last', async () => {
    const memory = create()
    const first = await memory.append('one')
    await memory.append('two')
    expect(first).toMatchObject({ text: 'one' })
    expect((await memory.read()).map(({ text }) => text)).toEqual(['one', 'two'])
    expect((await memory.read({ limit: 1 })).map(({ text }) => text)).toEqual(['two'])
  })

  test('C5: has no secret in it that the deployment knows', async () => {
    const memory = create()
    await memory.append('The password is hunter2')
    expect(await memory.read()).toMatchObject([{ text: 'The password is [redacted]' }])
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

  test('I21, C6: a stream is apart, holds so many notes, and the oldest go first', async () => {
    const memory = create()
    const of = { stream: 'findings' }
    await memory.append('of the scratchpad')
    for (const text of ['one', 'two', 'three', 'four']) await memory.append(text, of)
    const texts = async (options: object) => (await memory.read(options)).map(({ text }) => text)
    expect(await texts(of)).toEqual(['two', 'three', 'four'])
    expect(await texts({})).toEqual(['of the scratchpad'])
    expect((await memory.search('three', of)).map(({ text }) => text)).toEqual(['three'])
    await memory.clear(of)
    expect(await texts(of)).toEqual([])
    expect(await texts({})).toHaveLength(1)
  })

  test('refuses a stream that the agent does not declare, and a note that is larger than its stream', async () => {
    const memory = create()
    await expect(memory.append('x', { stream: 'other' })).rejects.toThrow('has findings')
    await expect(memory.read({ stream: 'other' })).rejects.toThrow('has findings')
    await expect(memory.append('x'.repeat(99), { stream: 'findings' })).rejects.toThrow(
      'The stream findings holds 100 characters',
    )
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
