import { describe, expect, it } from 'vitest'
import type { DeploymentEvent } from '../../../src/contracts/event.ts'
import type { OAuthGrant } from '../../../src/features/access/types/oauth.ts'
import { createAuditReader } from '../../../src/features/record/store/audit-reader.ts'
import { createGrantStore } from '../../../src/features/access/store/oauth-grants.ts'
import { createSqliteDatabase } from '../../fakes/sqlite-database.ts'
import { deploymentEventOf } from '../../fakes/events.ts'

const grantOf = (id: string, more: Partial<OAuthGrant> = {}): OAuthGrant => ({
  id,
  principal: 'ada',
  client: 'c',
  clientName: 'C',
  redirectUri: 'https://c.example/cb',
  resource: 'https://isola.example/mcp',
  scopes: ['agents'],
  signedInWith: 'key_1',
  createdAtMs: 100,
  expiresAtMs: 10_000,
  ...more,
})
const eventAt = (type: DeploymentEvent['type'], atMs: number): DeploymentEvent =>
  deploymentEventOf({
    type,
    principal: 'ada',
    trace: '',
    atMs,
    data: {},
  })

function open() {
  const { database } = createSqliteDatabase()
  const grants = createGrantStore(database)
  const add = (id: string, more: Partial<OAuthGrant> = {}) =>
    grants.add(grantOf(id, more), eventAt('oauth_granted', more.createdAtMs ?? 100))
  const revocations = async () => {
    const { records } = await createAuditReader(database).query({ session: '', limit: 100 })
    return records.filter(({ type }) => type === 'oauth_revoked').map(({ data }) => data)
  }
  return { grants, add, revocations }
}

describe('the table of grants', () => {
  it('names what took the place of a grant, until it is revoked after all', async () => {
    const { grants, add, revocations } = open()
    await add('grant_1')
    await add('grant_2', { createdAtMs: 200 })
    for (const atMs of [300, 400]) await grants.revoke('grant_1', eventAt('oauth_revoked', atMs))
    const revoked = await grants.find('grant_1')
    expect([revoked?.revokedAtMs, revoked?.followedBy]).toEqual([200, undefined])
    expect(await revocations()).toHaveLength(2)
  })

  it('I26: has the end of a grant that another replaced on record, once', async () => {
    const { grants, add, revocations } = open()
    await add('grant_1')
    await add('grant_2', { client: 'another' })
    expect(await revocations()).toEqual([])
    await add('grant_3', { createdAtMs: 200 })
    expect(await grants.find('grant_1')).toMatchObject({ revokedAtMs: 200, followedBy: 'grant_3' })
    const first = { owner: 'ada', reason: 'replaced', by: 'grant_3', grant: 'grant_1' }
    expect(await revocations()).toEqual([first])
    await expect(add('grant_3', { createdAtMs: 300 })).rejects.toMatchObject({
      code: 'request_conflict',
    })
    expect(await revocations()).toEqual([first])
    expect((await grants.find('grant_3'))?.revokedAtMs).toBeUndefined()
    // What expired has ended by itself.
    await add('grant_4', { createdAtMs: 10_000 })
    expect(await revocations()).toEqual([first])
  })

  it('forgets a grant by its end: when it was revoked, or when it expired', async () => {
    const { grants, add } = open()
    await add('grant_1')
    await add('grant_2', { client: 'another' })
    await grants.revoke('grant_1', eventAt('oauth_revoked', 500))
    const ids = async () => (await grants.list({ limit: 10 })).map(({ id }) => id)
    await grants.purge(500)
    expect(await ids()).toHaveLength(2)
    await grants.purge(501)
    expect(await ids()).toEqual(['grant_2'])
    await grants.purge(10_001)
    expect(await ids()).toEqual([])
  })

  it('G12: keeps a grant that was replaced as long as there is what took its place', async () => {
    const { grants, add } = open()
    await add('grant_1')
    await add('grant_2', { createdAtMs: 500, expiresAtMs: 20_000 })
    await grants.purge(15_000)
    expect(await grants.find('grant_1')).toMatchObject({ followedBy: 'grant_2' })
    await grants.purge(20_001)
    await grants.purge(20_001)
    expect(await grants.list({ limit: 10 })).toEqual([])
  })
})
