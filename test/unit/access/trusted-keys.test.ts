import { expect, it } from 'vitest'
import type { DeploymentEvent } from '../../../src/contracts/event.ts'
import type { TrustedKey } from '../../../src/runtime/catalog/types/plugin-upload.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import { createTrustStore } from '../../../src/features/access/store/trusted-keys.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { deploymentEventOf } from '../../fakes/events.ts'

const keyOf = (name: string, more: Partial<TrustedKey> = {}): TrustedKey => ({
  id: `trust_${name}`,
  name,
  publicKey: `key of ${name}`,
  addedBy: 'operator',
  addedAtMs: 1_790_000_000_000,
  ...more,
})
const eventOf = (type: 'trust_added' | 'trust_removed'): DeploymentEvent =>
  deploymentEventOf({
    type,
    principal: 'operator',
    trace: '',
    atMs: 1_790_000_000_000,
    data: {},
  })

function open() {
  const { database } = createSqliteDatabase()
  const events = async () => {
    const { records } = await createAuditReader(database).query({ session: '', limit: 100 })
    return records.map(({ type }) => type)
  }
  return { store: createTrustStore(database), events }
}

it('keeps keys by name, each with its event', async () => {
  const { store, events } = open()
  await store.add(keyOf('b'), eventOf('trust_added'))
  await store.add(keyOf('a'), eventOf('trust_added'))
  expect(await store.list()).toEqual([keyOf('a'), keyOf('b')])
  await store.remove('trust_b', eventOf('trust_removed'))
  await store.remove('trust_b', eventOf('trust_removed'))
  expect(await store.list()).toEqual([keyOf('a')])
  expect(await events()).toEqual(['trust_added', 'trust_added', 'trust_removed'])
})

it('refuses a name and a key that are there, and puts nothing on the record', async () => {
  const { store, events } = open()
  await store.add(keyOf('a'), eventOf('trust_added'))
  for (const again of [keyOf('a', { id: 'trust_other' }), keyOf('other', { id: 'trust_a' })]) {
    await expect(store.add(again, eventOf('trust_added'))).rejects.toMatchObject({
      code: 'request_conflict',
      param: 'name',
    })
  }
  expect(await events()).toEqual(['trust_added'])
})
