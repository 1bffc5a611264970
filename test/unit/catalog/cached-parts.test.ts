import { expect, it } from 'vitest'
import type { StoredPart } from '#runtime/catalog/types/generation.ts'
import { createPartLookup } from '../../../src/runtime/catalog/cached-set.ts'

const partOf = (id: string) => ({ kind: 'plugin', id, epoch: 1 }) as unknown as StoredPart
const found = (ids: readonly string[]) => ({ number: 7, parts: ids.map(partOf) })

it('a part that was known is in the answer, though a change forgot it while the rest was looked up', async () => {
  const lookup = createPartLookup(async (ids) => {
    if (ids.includes('b')) lookup.clear()
    return found(ids)
  })
  await lookup.find(['a'], 7)
  expect((await lookup.find(['a', 'b'], 7)).map(({ id }) => id)).toEqual(['a', 'b'])
})

it('a part that was known is in the answer, though too many parts were known to cache them', async () => {
  const lookup = createPartLookup(async (ids) => found(ids))
  const many = Array.from({ length: 2_001 }, (_, n) => `p${n}`)
  await lookup.find(many, 7)
  expect((await lookup.find(['p1', 'new'], 7)).map(({ id }) => id)).toEqual(['p1', 'new'])
})
