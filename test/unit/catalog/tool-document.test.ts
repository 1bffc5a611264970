import { describe, expect, test } from 'vitest'
import { toToolDocument } from '../../../src/runtime/catalog/tool-document.ts'

const text = (description: string) => ({ type: 'string', description })
const toolOf = (name: string, properties: Record<string, ReturnType<typeof text>>) =>
  toToolDocument({ name, description: 'Does it.', inputSchema: { type: 'object', properties } })

describe('what the index knows of a tool', () => {
  test('is its name without its owner, and what its parameters say', () => {
    expect(toolOf('kv__set', { key: text('Name of the value.') })).toEqual({
      id: 'kv__set',
      name: 'set',
      owner: 'kv',
      description: 'Does it.',
      parameters: 'key Name of the value.',
    })
  })

  test('M5: has nothing of an agent that every agent has: none is found by it', () => {
    const shared = { task: text('What is to be done.'), onOutcome: text('Where the message goes.') }
    expect(toolOf('helper__run', shared).parameters).toBe('')
  })
})
