import { expect, it } from 'vitest'
import { createStoredParts } from '../../../src/runtime/catalog/stored-parts.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

it('what is searched is read anew by an object that begins anew: another may have left it in the isolate', () => {
  const kv = { get: () => undefined, put: () => {}, delete: () => true }
  const { sql } = createPrincipalStorage()
  const open = () =>
    createStoredParts({ sql, kv } as unknown as DurableObjectStorage, () => ({}) as never)
  const [before, after] = [open(), open()]
  expect(before.revision()).toBe(before.revision())
  expect(after.revision()).not.toBe(before.revision())
})
