import { expect, it } from 'vitest'
import type { SealedSecret } from '../../../src/features/access/types/secrets.ts'
import type { DeploymentEventType } from '../../../src/contracts/event.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import { createSecretStore } from '../../../src/features/access/store/secrets.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { deploymentEventOf } from '../../fakes/events.ts'

const secret = (name: string, sealed = 's1'): SealedSecret => ({
  name,
  sealed,
  keyId: 'k1',
  setBy: 'operator',
  setAtMs: 1,
})
const event = (type: DeploymentEventType) =>
  deploymentEventOf({
    type,
    principal: 'operator',
    trace: '',
    atMs: 1,
    data: {},
  })

function setUp() {
  const { database } = createSqliteDatabase()
  const events = async () =>
    (await createAuditReader(database).query({ limit: 50 })).records.map(({ type }) => type)
  return { ...createSecretStore(database), events }
}

it('keeps one row a name, the newest', async () => {
  const { put, list, find, events } = setUp()
  await put(secret('B'), event('secret_set'))
  await put(secret('A'), event('secret_set'))
  await put({ ...secret('B', 's2'), setBy: 'ann' }, event('secret_set'))
  expect(await list()).toEqual([secret('A'), { ...secret('B', 's2'), setBy: 'ann' }])
  expect(await find(['B', 'C', "' OR 1=1"])).toEqual([{ ...secret('B', 's2'), setBy: 'ann' }])
  expect(await find([])).toEqual([])
  expect(await events()).toEqual(['secret_set', 'secret_set', 'secret_set'])
})

it('removes with an event, and without one what is not there', async () => {
  const { put, remove, list, events } = setUp()
  await put(secret('A'), event('secret_set'))
  await remove('A', event('secret_removed'))
  await remove('A', event('secret_removed'))
  expect(await list()).toEqual([])
  expect(await events()).toEqual(['secret_set', 'secret_removed'])
})

it('seals anew only what is still as it was read', async () => {
  const { put, reseal, list } = setUp()
  await put(secret('A'), event('secret_set'))
  await put(secret('B', 'set meanwhile'), event('secret_set'))
  const next = { sealed: 's9', keyId: 'k2', was: 's1' }
  await reseal(
    [
      { name: 'A', ...next },
      { name: 'B', ...next },
    ],
    event('secrets_rotated'),
  )
  expect((await list()).map(({ sealed, keyId }) => [sealed, keyId])).toEqual([
    ['s9', 'k2'],
    ['set meanwhile', 'k1'],
  ])
})
