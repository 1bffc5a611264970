import { expect, it } from 'vitest'
import { createKnownTools } from '../../../src/runtime/session/runs/run-journal.ts'
import { says, toolEntry } from '../../fakes/kernel.ts'

const entry = (name: string, definitionHash: string) =>
  toolEntry(name, async () => says(''), { definitionHash })
const pinned = ['find', 'notes'].map((name) => ({
  name,
  description: '',
  inputSchema: { type: 'object' } as const,
  hash: `${name}:1`,
}))

it('I19: the tool to look with is never refused as changed: nothing else could be seen again', () => {
  const known = createKnownTools({ finder: 'find' }, pinned)
  expect(known.refuse('call_1', entry('notes', 'notes:2'))).toMatchObject({
    error: { code: 'tool_changed', message: expect.stringContaining('with find') },
  })
  expect(known.refuse('call_2', entry('find', 'find:2'))).toBeUndefined()
})
