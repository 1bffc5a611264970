import { describe, expect, it } from 'vitest'
import type { KeyView } from '../../../src/features/access/types/keys.ts'
import type { Rights } from '../../../src/contracts/keys.ts'
import type { OAuthGrant } from '../../../src/features/access/types/oauth.ts'
import { createMayBegin } from '../../../src/features/access/may-begin.ts'

const nowMs = 1_790_000_000_000
const key = (more: Partial<KeyView>): KeyView => ({
  id: 'key_1',
  principal: 'alice',
  role: 'user',
  hint: 'isk_abc',
  createdAtMs: 0,
  ...more,
})
const grant = (more: Partial<OAuthGrant> = {}): OAuthGrant => ({
  id: 'grant_1',
  principal: 'alice',
  client: 'client_1',
  clientName: 'Editor',
  redirectUri: 'http://localhost/',
  resource: 'https://isola.example/mcp',
  scopes: ['agents'],
  signedInWith: 'oidc:subject-1',
  createdAtMs: 0,
  expiresAtMs: nowMs + 1,
  ...more,
})
/** Two providers serve a model called `large`; without a provider's name it is that of the first. */
const served: Readonly<Record<string, string>> = {
  large: 'openai/large',
  'openai/large': 'openai/large',
  'backup/large': 'backup/large',
  'openai/small': 'openai/small',
}
interface Found {
  readonly key?: KeyView | undefined
  readonly rights?: Rights
  readonly grant?: OAuthGrant
  readonly people?: readonly { readonly principal: string; readonly role: 'user' | 'auditor' }[]
}
const open = ({ key: found, rights, grant: signIn, people = [] }: Found) =>
  createMayBegin({
    keys: { find: async () => found, rightsOf: async () => rights },
    grants: { find: async () => signIn },
    people,
    clock: { nowMs: () => nowMs },
    fullNameOf: (model) => served[model],
  })
const asked = { principal: 'alice', key: 'key_1', agent: 'orchestrator', model: 'large' }
const person = { principal: 'alice', grant: 'grant_1', agent: 'orchestrator' }
const alice = { principal: 'alice', role: 'user' } as const

describe('a run that was asked for with a key', () => {
  it('I26: may begin while the key opens something', async () => {
    expect(await open({ key: key({}) })(asked)).toBe(true)
    expect(await open({ key: key({ agents: ['orchestrator'] }) })(asked)).toBe(true)
    expect(await open({ key: key({ models: ['openai/large'] }) })(asked)).toBe(true)
    expect(await open({ key: key({ role: 'author' }) })(asked)).toBe(true)
    expect(await open({})({ principal: 'operator', agent: 'orchestrator' })).toBe(true)
  })

  it('N12: sees what is of others only with the role, and of a sign-in the scope, that it has now', async () => {
    const others = { seesEverybody: true } as const
    expect(await open({ key: key({}) })({ ...asked, ...others })).toBe(false)
    expect(await open({ key: key({ role: 'operator' }) })({ ...asked, ...others })).toBe(true)
    const signedIn = { grant: grant(), rights: { role: 'operator' } as const, people: [alice] }
    expect(await open(signedIn)({ ...person, ...others })).toBe(false)
    const wide = { ...signedIn, grant: grant({ scopes: ['agents', 'operator'] }) }
    expect(await open(wide)({ ...person, ...others })).toBe(true)
  })

  it.each<[string, KeyView | undefined]>([
    ['is not there', undefined],
    ['was revoked', key({ revokedAtMs: 1 })],
    ['expired', key({ expiresAtMs: nowMs })],
    ['may not talk to this agent any more', key({ agents: ['other'] })],
    ['may not name this model any more', key({ models: ['openai/small'] })],
    ['may name a model of the same name at another provider', key({ models: ['backup/large'] })],
    ['is an auditor now', key({ role: 'auditor' })],
  ])('T1: does not begin for a key that %s', async (_what, found) => {
    expect(await open({ key: found })(asked)).toBe(false)
  })

  it('T1: does not begin with a model that is served no more', async () => {
    const may = open({ key: key({ models: ['openai/gone'] }) })
    expect(await may({ ...asked, model: 'gone' })).toBe(false)
  })
})

describe('a run that was asked for with a sign-in', () => {
  it('I26: may begin while the sign-in holds and its person is let in', async () => {
    expect(await open({ grant: grant(), people: [alice] })(person)).toBe(true)
    const withKey = { key: key({}), grant: grant({ signedInWith: 'key_1' }) }
    expect(await open(withKey)({ ...asked, grant: 'grant_1' })).toBe(true)
  })

  it.each<[string, Found]>([
    ['that is not there', { people: [alice] }],
    ['that was revoked', { grant: grant({ revokedAtMs: 1 }), people: [alice] }],
    ['that has ended', { grant: grant({ expiresAtMs: nowMs }), people: [alice] }],
    ['that was of somebody else', { grant: grant({ principal: 'bob' }), people: [alice] }],
    ['that is for reading alone', { grant: grant({ scopes: ['audit:read'] }), people: [alice] }],
    ['of somebody who is let in no more', { grant: grant() }],
    ['of an auditor', { grant: grant(), people: [{ principal: 'alice', role: 'auditor' }] }],
    [
      'of somebody who may not talk to this agent any more',
      { grant: grant(), people: [alice], rights: { role: 'user', agents: ['other'] } },
    ],
  ])('T1: does not begin for one %s', async (_what, found) => {
    expect(await open(found)(person)).toBe(false)
  })

  it('T1: does not begin for a key whose sign-in was revoked', async () => {
    const found = { key: key({}), grant: grant({ revokedAtMs: 1 }) }
    expect(await open(found)({ ...asked, grant: 'grant_1' })).toBe(false)
  })

  it('T1: does not begin where only the token could tell: an operator signed in, or an older run', async () => {
    const signIn = grant({ principal: 'operator', signedInWith: 'operator' })
    expect(await open({ grant: signIn })({ ...person, principal: 'operator' })).toBe(false)
    expect(await open({ people: [alice] })({ principal: 'alice', agent: 'orchestrator' })).toBe(
      false,
    )
  })
})
