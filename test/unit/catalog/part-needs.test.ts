import { expect, it } from 'vitest'
import type { PartKind, StoredPart } from '#runtime/catalog/types/generation.ts'
import { withNeeds } from '../../../src/runtime/catalog/part-needs.ts'

const partOf = (id: string, kind: PartKind = 'plugin', bodies = [id]) =>
  ({ kind, id, pin: { id }, epoch: 0, bodies }) as unknown as StoredPart
const keysOf = (parts: readonly StoredPart[]) => parts.map(({ kind, id }) => `${kind} ${id}`)

/** Looks among these; by its id, each plugin names what it depends on. */
const over = (stored: readonly StoredPart[], needs: Readonly<Record<string, string[]>> = {}) => ({
  find: async (ids: readonly string[]) => stored.filter(({ id }) => ids.includes(id)),
  sourceOf: async (id: string) => ({ manifest: { depends_on: needs[id] }, files: {} }),
})

it.each(['policy', 'exposure'] as const)(
  'a plugin may be called %s as the choice of an operator is, and each comes once',
  async (id) => {
    const choice = partOf(id, id, [])
    const deps = over([choice, partOf(id)])
    const { parts } = await withNeeds({ parts: [choice], ids: [id] }, deps)
    expect(keysOf(parts)).toEqual([`${id} ${id}`, `plugin ${id}`])
  },
)

it('a plugin that is asked for by name brings its dependencies, however many parts every run has', async () => {
  const always = Array.from({ length: 600 }, (_, n) => partOf(`always-${n}`))
  const deps = over([partOf('a'), partOf('b'), partOf('c')], { a: ['b'], b: ['c'] })
  const { parts } = await withNeeds({ parts: always, ids: ['a'] }, deps)
  expect(keysOf(parts.slice(600))).toEqual(['plugin a', 'plugin b', 'plugin c'])
})

it('a dependency of a part that every run has is wired with it', async () => {
  const policy = { ...partOf('policy', 'policy', []), needs: ['a', 'gone'] }
  const deps = over([partOf('a'), partOf('b')], { a: ['b'] })
  const { parts } = await withNeeds({ parts: [policy] }, deps)
  expect(keysOf(parts)).toEqual(['policy policy', 'plugin a', 'plugin b'])
})
