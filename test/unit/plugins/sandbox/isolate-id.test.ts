import { expect, it } from 'vitest'
import {
  toIsolateId,
  type IsolateIdentity,
} from '../../../../src/features/plugins/sandbox/isolate-id.ts'
import { systemSources } from '../../../../src/compose/sources.ts'

const identity: IsolateIdentity = {
  plugin: 'a',
  hash: 'h',
  tier: 'community',
  config: { a: 1 },
  grantEpoch: 1,
  shimVersion: 'v',
  rootSession: 'ses_1',
  principal: 'alice',
  isShared: false,
}
const id = (more: Partial<IsolateIdentity> = {}) =>
  toIsolateId({ ...identity, ...more }, systemSources.sha256)

it('T7: the same call twice is the same isolate', () => {
  expect(id()).toBe(id())
  expect(id()).toMatch(/^[0-9a-f]{64}$/)
})

it.each([
  { plugin: 'b' },
  { hash: 'i' },
  { tier: 'trusted' },
  { config: { a: 2 } },
  { grantEpoch: 2 },
  { shimVersion: 'w' },
  { rootSession: 'ses_2' },
] as const)('T7: %j makes another one', (more) => {
  expect(id(more)).not.toBe(id())
})

it('T7: trusted code shares one over the session trees of one principal', () => {
  const of = (more: Partial<IsolateIdentity>) => id({ tier: 'trusted', ...more })
  expect(of({ rootSession: 'ses_1' })).toBe(of({ rootSession: 'ses_2' }))
  expect(of({ principal: 'alice' })).not.toBe(of({ principal: 'bob' }))
})

it('T7: only trusted code is one for all principals, where the operator says so', () => {
  const of = (more: Partial<IsolateIdentity>) => id({ isShared: true, ...more })
  const trusted = (principal: string) => of({ tier: 'trusted', principal })
  expect(trusted('alice')).toBe(trusted('bob'))
  expect(of({ rootSession: 'ses_1' })).not.toBe(of({ rootSession: 'ses_2' }))
})
