import { expect, it } from 'vitest'
import { createStoredParts } from '../../../src/runtime/catalog/stored-parts.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

it('an object that begins anew reads the search data anew: another object may have left its own in the isolate', () => {
  const kv = { get: () => undefined, put: () => {}, delete: () => true }
  const { sql } = createPrincipalStorage()
  const open = () =>
    createStoredParts({ sql, kv } as unknown as DurableObjectStorage, () => ({}) as never)
  const [before, after] = [open(), open()]
  expect(before.revision()).toBe(before.revision())
  expect(after.revision()).not.toBe(before.revision())
})
