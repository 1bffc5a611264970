import { describe, expect, it } from 'vitest'
import type { DeploymentEvent, DeploymentEventType } from '../../../src/contracts/event.ts'
import type { NewKey } from '../../../src/features/access/types/keys.ts'
import type { Rights } from '../../../src/contracts/keys.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import type { Database } from '../../../src/platform/d1/database.ts'
import { createDeploymentLog } from '../../../src/platform/d1/deployment-log.ts'
import { createKeyStore } from '../../../src/features/access/store/keys.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { deploymentEventOf } from '../../fakes/events.ts'

const nowMs = 1_790_000_000_000
const rights: Rights = {
  role: 'user',
  agents: ['orchestrator'],
  models: [],
  limits: { tokens: 0, costNanoUsd: 2_500_000_000 },
}
const keyOf = (name: string, more: Partial<NewKey> = {}): NewKey => ({
  id: `key_${name}`,
  principal: 'alice',
  hash: `hash of ${name}`,
  hint: 'isk_1234',
  createdAtMs: nowMs,
  ...more,
})
const eventOf = (type: DeploymentEventType, atMs = nowMs): DeploymentEvent =>
  deploymentEventOf({
    type,
    principal: 'root',
    trace: '',
    atMs,
    data: { some: 'thing' },
  })
const added = eventOf('key_added')

function open() {
  const { database, sqlite } = createSqliteDatabase()
  const records = async () => {
    const { records } = await createAuditReader(database).query({ session: '', limit: 100 })
    return records.map(({ seq, type }) => [seq, type])
  }
  return { keys: createKeyStore(database), database, sqlite, records }
}

describe('the table of keys', () => {
  it('finds a key by its hash with what its principal may', async () => {
    const { keys } = open()
    await keys.add(keyOf('a', { expiresAtMs: nowMs + 1 }), added, rights)
    const { hash: _hash, ...view } = keyOf('a', { expiresAtMs: nowMs + 1 })
    expect(await keys.findByHash('hash of a')).toEqual({ ...view, ...rights })
    expect(await keys.findByHash('hash of b')).toBeUndefined()
    expect(await keys.rightsOf('alice')).toEqual(rights)
    expect(await keys.rightsOf('bob')).toBeUndefined()
  })

  it('P11: keeps the persona of a key, and that of the one that takes its place', async () => {
    const { keys } = open()
    await keys.add(keyOf('a', { persona: 'calm' }), added, rights)
    expect((await keys.find('key_a'))?.persona).toBe('calm')
    const next = keyOf('b', { persona: 'calm' })
    await keys.rotate({ id: 'key_a', endsAtMs: nowMs }, next, eventOf('key_rotated'))
    expect((await keys.find('key_b'))?.persona).toBe('calm')
  })

  it('has no limit and no list where none was set', async () => {
    const { keys } = open()
    await keys.add(keyOf('a'), added, { role: 'auditor' })
    expect(await keys.rightsOf('alice')).toEqual({ role: 'auditor' })
  })

  it('I28: never gives a hash out', async () => {
    const { keys } = open()
    await keys.add(keyOf('a'), added, rights)
    const shown = [await keys.findByHash('hash of a'), await keys.list({ limit: 9 })]
    expect(JSON.stringify(shown)).not.toContain('hash of')
  })

  it('refuses a principal that is there, and keeps neither key nor event', async () => {
    const { keys, records } = open()
    await keys.add(keyOf('a'), added, rights)
    await expect(keys.add(keyOf('b'), added, { role: 'operator' })).rejects.toMatchObject({
      code: 'request_conflict',
      param: 'principal',
    })
    expect(await keys.find('key_b')).toBeUndefined()
    expect(await records()).toEqual([[1, 'key_added']])
  })

  it('lists the newest first, of all or of one principal', async () => {
    const { keys } = open()
    await keys.add(keyOf('a'), added, rights)
    await keys.add(keyOf('b', { createdAtMs: nowMs + 1 }), added)
    await keys.add(keyOf('c', { principal: 'bob' }), added, { role: 'author' })
    const listed = async (query: Parameters<typeof keys.list>[0]) =>
      (await keys.list(query)).map(({ id }) => id)
    expect(await listed({ limit: 9 })).toEqual(['key_b', 'key_a', 'key_c'])
    expect(await listed({ limit: 1, principal: 'bob' })).toEqual(['key_c'])
    expect(await listed({ limit: 9, principal: 'nobody' })).toEqual([])
  })

  it('changes what a principal may, for each of its keys, and records it', async () => {
    const { keys, records } = open()
    await keys.add(keyOf('a'), added, rights)
    await keys.add(keyOf('b'), added)
    await keys.change('alice', { role: 'auditor' }, eventOf('principal_changed'))
    await keys.change('nobody', { role: 'operator' }, eventOf('principal_changed'))
    for (const { role, agents, limits } of await keys.list({ limit: 9 }))
      expect([role, agents, limits]).toEqual(['auditor', undefined, undefined])
    expect((await records()).slice(2)).toEqual([[3, 'principal_changed']])
  })

  it('revokes once: the first time stands, and only it is on the record', async () => {
    const { keys, records } = open()
    await keys.add(keyOf('a'), added, rights)
    for (const atMs of [nowMs + 1, nowMs + 2])
      await keys.revoke('key_a', eventOf('key_revoked', atMs))
    await keys.revoke('key_none', eventOf('key_revoked'))
    expect(await keys.find('key_a')).toMatchObject({ revokedAtMs: nowMs + 1 })
    expect(await records()).toEqual([
      [1, 'key_added'],
      [2, 'key_revoked'],
    ])
  })

  it.each([
    ['at once', nowMs, undefined, { revokedAtMs: nowMs }],
    ['later', nowMs + 60, undefined, { expiresAtMs: nowMs + 60 }],
    ['no later than it would have', nowMs + 60, nowMs + 30, { expiresAtMs: nowMs + 30 }],
  ])('rotates: the old one ends %s', async (_name, endsAtMs, expiresAtMs, end) => {
    const { keys, records } = open()
    await keys.add(keyOf('a', expiresAtMs ? { expiresAtMs } : {}), added, rights)
    await keys.rotate({ id: 'key_a', endsAtMs }, keyOf('b'), eventOf('key_rotated'))
    expect(await keys.find('key_a')).toMatchObject(end)
    expect(await keys.find('key_b')).toMatchObject({ principal: 'alice', ...rights })
    expect(await records()).toContainEqual([2, 'key_rotated'])
  })

  it('names what took the place of a key, until it is revoked after all', async () => {
    const { keys, records } = open()
    await keys.add(keyOf('a'), added, rights)
    await keys.rotate({ id: 'key_a', endsAtMs: nowMs }, keyOf('b'), eventOf('key_rotated'))
    expect(await keys.find('key_a')).toMatchObject({ revokedAtMs: nowMs, followedBy: 'key_b' })
    for (const atMs of [nowMs + 1, nowMs + 2])
      await keys.revoke('key_a', eventOf('key_revoked', atMs))
    const revoked = await keys.find('key_a')
    expect([revoked?.revokedAtMs, revoked?.followedBy]).toEqual([nowMs, undefined])
    expect((await records()).slice(2)).toEqual([[3, 'key_revoked']])
  })

  it('rotates no key that has ended, and records nothing', async () => {
    const { keys, records } = open()
    await keys.add(keyOf('a', { expiresAtMs: nowMs }), added, rights)
    await keys.rotate({ id: 'key_a', endsAtMs: nowMs }, keyOf('b'), eventOf('key_rotated'))
    expect(await keys.find('key_b')).toBeUndefined()
    expect(await records()).toHaveLength(1)
  })

  it('F15: is unavailable while the database is away', async () => {
    const away = () => Promise.reject(new Error('D1_ERROR: Network connection lost.'))
    const statement = { bind: () => statement, first: away, all: away, run: away }
    const database = { prepare: () => statement, batch: away } as unknown as Database
    const keys = createKeyStore(database)
    const refused = { code: 'request_unavailable', retryAfterMs: 5_000 }
    await expect(keys.findByHash('x')).rejects.toMatchObject(refused)
    await expect(keys.list({ limit: 1 })).rejects.toMatchObject(refused)
    await expect(keys.rightsOf('x')).rejects.toMatchObject(refused)
    await expect(keys.add(keyOf('a'), added)).rejects.toMatchObject(refused)
    await expect(keys.revoke('a', added)).rejects.toMatchObject(refused)
    const log = createDeploymentLog(database)
    await expect(log.append(added)).rejects.toMatchObject(refused)
  })
})

describe("the deployment's own events", () => {
  it('count without gaps beside those of sessions, and are read with the same cursor', async () => {
    const { database } = open()
    const log = createDeploymentLog(database)
    for (const _ of [1, 2, 3]) await log.append(eventOf('login_failed'))
    const reader = createAuditReader(database)
    const { records, next } = await reader.query({ limit: 2 })
    expect(records).toEqual(
      [1, 2].map((seq) => ({
        session: '',
        seq,
        run: '',
        trace: '',
        agent: '',
        principal: 'root',
        type: 'login_failed',
        atMs: nowMs,
        data: { some: 'thing' },
      })),
    )
    expect((await reader.query({ limit: 9, after: next! })).records).toMatchObject([{ seq: 3 }])
  })
})
