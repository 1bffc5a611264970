import { describe, expect, it } from 'vitest'
import type { OAuthGrant } from '../../../src/features/access/types/oauth.ts'
import { createIdentity } from '../../../src/features/access/oauth/identity.ts'
import {
  oidcSettings,
  toOidc,
  findPerson,
  people,
} from '../../../src/features/access/oauth/oidc/people.ts'
import {
  createOriginOf,
  isFromOurPage,
  resourceOf,
} from '../../../src/features/access/oauth/origins.ts'
import { parseProof, type Proof } from '../../../src/features/access/oauth/proof.ts'
import { createMemoryKeys } from '../../fakes/keys.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { deploymentEventOf } from '../../fakes/events.ts'

const grant: OAuthGrant = {
  id: 'grant_1',
  principal: 'operator',
  client: 'c',
  clientName: 'C',
  redirectUri: 'https://c.example/cb',
  resource: 'https://isola.example/mcp',
  scopes: ['agents'],
  signedInWith: 'operator',
  createdAtMs: 0,
  expiresAtMs: 1_000,
}
const person: Proof['by'] = { kind: 'person', issuer: 'https://login.example', subject: 's-1' }

function open(options: { operatorKey?: string; grant?: Partial<OAuthGrant>; nowMs?: number } = {}) {
  const keys = createMemoryKeys()
  const listed = { isThere: true }
  const identity = createIdentity({
    operatorKey: options.operatorKey ?? 'isk_operator',
    sha256,
    keys,
    grants: { find: async (id) => (id === grant.id ? { ...grant, ...options.grant } : undefined) },
    clock: { nowMs: () => options.nowMs ?? 1 },
    personOf: () =>
      listed.isThere ? { subject: 's-1', principal: 'ada', role: 'user' } : undefined,
  })
  return { identity, keys, listed }
}

describe('whose a token is', () => {
  const operator = { id: 'operator', role: 'operator' } as const

  it('T1: is asked of the operator key as it is now: another one ends what the old one signed in', async () => {
    const by = open().identity.proofOf(operator)
    expect(await open().identity.holderOfGrant({ grant: 'grant_1', by })).toEqual(operator)
    const rotated = open({ operatorKey: 'isk_new' }).identity
    expect(await rotated.holderOfGrant({ grant: 'grant_1', by })).toBeUndefined()
    expect(await open({ operatorKey: '' }).identity.holderOf(by)).toBeUndefined()
    expect(JSON.stringify(by)).not.toContain(sha256('isk_operator'))
  })

  it('T1: is no principal without a grant that holds, of the same principal', async () => {
    const by = open().identity.proofOf(operator)
    const holderOf = (more: Parameters<typeof open>[0], id = 'grant_1') =>
      open(more).identity.holderOfGrant({ grant: id, by })
    expect(await holderOf({}, 'grant_2')).toBeUndefined()
    expect(await holderOf({ grant: { revokedAtMs: 0 } })).toBeUndefined()
    expect(await holderOf({ nowMs: 1_000 })).toBeUndefined()
    expect(await holderOf({ grant: { principal: 'ada' } })).toBeUndefined()
  })

  it('T1: is no principal once the person is on the list no more', async () => {
    const { identity, listed } = open({ grant: { principal: 'ada' } })
    const proof = { grant: 'grant_1', by: person }
    expect(await identity.holderOfGrant(proof)).toMatchObject({ id: 'ada', role: 'user' })
    listed.isThere = false
    expect(await identity.holderOfGrant(proof)).toBeUndefined()
  })

  it('gives a person the rights that the principal has here, if it has any', async () => {
    const { identity, keys } = open()
    const event = {
      type: 'principal_changed',
      principal: '',
      trace: '',
      atMs: 1,
      data: {},
    } as const
    await keys.change('ada', { role: 'auditor', agents: ['a'] }, deploymentEventOf(event))
    expect(await identity.holderOf(person)).toMatchObject({ role: 'auditor', agents: ['a'] })
  })

  it('is not read from what another version wrote', () => {
    expect(parseProof({ grant: 'g', by: { kind: 'operator', mark: 'm', more: 1 } })).toBeUndefined()
    expect(parseProof({ by: { kind: 'operator', mark: 'm' } })).toBeUndefined()
    expect(parseProof(null)).toBeUndefined()
  })
})

describe('the list of people', () => {
  it('finds a person by the exact subject and by the e-mail in any case, and no other person', () => {
    const list = people.parse(
      JSON.stringify([
        { email: 'Ada@Example.com', principal: 'ada', role: 'user' },
        { subject: 'S-1', principal: 'grace', role: 'author' },
      ]),
    )
    expect(findPerson(list, { subject: 'x', email: 'ADA@example.com' })?.principal).toBe('ada')
    expect(findPerson(list, { subject: 'S-1' })?.principal).toBe('grace')
    expect(findPerson(list, { subject: 's-1' })).toBeUndefined()
    expect(findPerson(list, { subject: 'ada@example.com' })).toBeUndefined()
  })

  it.each([
    'ada',
    '{}',
    '[{"email":"a@b.example","principal":"operator","role":"operator"}]',
    '[{"principal":"ada","role":"user"}]',
    '[{"email":"a@b.example","subject":"s","principal":"ada","role":"user"}]',
    '[{"email":"a@b.example","principal":"ada","role":"admin"}]',
    '[{"email":"a@b.example","principal":"Ada!","role":"user"}]',
  ])('refuses %s', (text) => expect(people.safeParse(text).success).toBe(false))
})

describe('where we are', () => {
  const live = createOriginOf({ hosts: ['isola.example.com'], isDevelopment: false })
  const local = createOriginOf({ hosts: [], isDevelopment: true })

  it.each([
    ['https://isola.example.com/x', 'https://isola.example.com'],
    ['https://isola.acme.workers.dev/x', 'https://isola.acme.workers.dev'],
    ['http://isola.example.com/x', undefined],
    ['https://isola.example.com:8443/x', undefined],
    ['https://a.isola.example.com/x', undefined],
    ['https://isola.example.com.evil.example/x', undefined],
    ['https://evilworkers.dev/x', undefined],
    ['http://localhost:8787/x', undefined],
  ])('T17: a deployment at %s is %s', (url, origin) => expect(live(url)).toBe(origin))

  it.each([
    ['http://localhost:8787/x', 'http://localhost:8787'],
    ['http://127.0.0.1:1/x', 'http://127.0.0.1:1'],
    ['http://127.0.0.1.evil.example/x', undefined],
    ['http://evil.example/x', undefined],
    ['https://a.workers.dev/x', undefined],
  ])('T17: a server on the own machine at %s is %s', (url, origin) =>
    expect(local(url)).toBe(origin),
  )

  it('a path is of one part, or of none', () => {
    const part = (path: string) => resourceOf(live, `https://isola.example.com${path}`)
    expect(part('/v1/models')).toBe('https://isola.example.com/v1')
    expect(part('/mcp')).toBe('https://isola.example.com/mcp')
    for (const path of ['/mcpx', '/', '/healthz', '/v10', '/authorize'])
      expect(part(path)).toBeUndefined()
  })

  it('T28: a form is from our page unless the browser says that it is not', () => {
    const ours = (headers: Record<string, string>) =>
      isFromOurPage(new Headers(headers), 'https://isola.example.com')
    expect(ours({})).toBe(true)
    expect(ours({ origin: 'https://isola.example.com', 'sec-fetch-site': 'same-origin' })).toBe(
      true,
    )
    for (const origin of ['https://evil.example', 'null', 'https://isola.example.com.evil.example'])
      expect(ours({ origin })).toBe(false)
    for (const site of ['cross-site', 'same-site', 'none'])
      expect(ours({ 'sec-fetch-site': site })).toBe(false)
  })
})

describe('the settings of another provider', () => {
  const issuer = (url: string) => oidcSettings.ISOLA_OIDC_ISSUER.safeParse(url).success

  it('name it by https, or on the own machine', () => {
    for (const url of [
      '',
      'https://accounts.google.com',
      'http://localhost:9000',
      'http://127.0.0.1',
    ])
      expect(issuer(url), url).toBe(true)
    for (const url of [
      'http://login.example',
      'http://localhost.evil.example',
      'javascript:x',
      'x',
    ])
      expect(issuer(url), url).toBe(false)
  })

  it('count together: a provider without what it calls us is none', () => {
    expect(toOidc({ ISOLA_OIDC_ISSUER: 'https://a.example' })).toBeUndefined()
    const both = { ISOLA_OIDC_ISSUER: 'https://a.example', ISOLA_OIDC_CLIENT_ID: 'c' }
    expect(toOidc(both)).toMatchObject({ issuer: 'https://a.example', clientId: 'c', people: [] })
  })
})
