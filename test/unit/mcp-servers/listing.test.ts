import { expect, it } from 'vitest'
import { lookAlikeNotes } from '../../../src/features/mcp-servers/listing.ts'

const items = ['get', 'ɡet', 'sеt', 'delete_it', 'se7'].map((key) => ({
  kind: 'tool' as const,
  key,
  definition: {},
  hash: '',
}))

it('T13: points out tools that look like those of another server, in characters that are what they look like', () => {
  const notes = lookAlikeNotes({ items }, 'srv', ['kv__get', 'kv__set', 'srv__delete_it'])
  expect(notes).toEqual([
    '"get" looks like the tool kv__get, which is not this server\'s.',
    '"s\\u{435}t" looks like the tool kv__set, which is not this server\'s.',
  ])
})
