import { expect, it } from 'vitest'
import type { KeyView } from '../../../src/features/access/types/keys.ts'
import type { OAuthGrant } from '#features/access/types/oauth.ts'
import { createCredentialState } from '../../../src/features/access/may-begin.ts'

const nowMs = 1_790_000_000_000
const key = (id: string, more: Partial<KeyView> = {}): KeyView => ({
  id,
  principal: 'alice',
  role: 'user',
  hint: 'isk_abc',
  createdAtMs: 0,
  ...more,
})
const stateIn = (keys: readonly KeyView[], grants: readonly Partial<OAuthGrant>[] = []) =>
  createCredentialState({
    keys: { find: async (id) => keys.find((one) => one.id === id) },
    grants: { find: async (id) => grants.find((one) => one.id === id) as OAuthGrant | undefined },
    clock: { nowMs: () => nowMs },
  })

it.each<[string, KeyView[], object]>([
  ['holds', [key('key_1')], { state: 'active' }],
  ['has an end', [key('key_1', { expiresAtMs: nowMs + 1 })], { endsAtMs: nowMs + 1 }],
  ['was revoked', [key('key_1', { revokedAtMs: 1 })], { state: 'ended', reason: 'revoked' }],
  ['expired', [key('key_1', { expiresAtMs: nowMs })], { state: 'ended', reason: 'expired' }],
  ['is not there', [], { state: 'ended', reason: 'revoked' }],
])('G12: a key that %s', async (_what, keys, state) => {
  expect(await stateIn(keys)('key_1')).toMatchObject(state)
})

it('G12: a key that was rotated stands for itself while it holds, then the last that took its place does', async () => {
  const second = key('key_2', { revokedAtMs: 2, followedBy: 'key_3' })
  const rotated = (more: Partial<KeyView>) => key('key_1', { followedBy: 'key_2', ...more })
  const ends = { expiresAtMs: nowMs + 9 }
  const old = rotated({ revokedAtMs: 1 })
  expect(await stateIn([old, second, key('key_3', ends)])('key_1')).toEqual({
    state: 'active',
    endsAtMs: nowMs + 9,
  })
  const gone = key('key_3', { revokedAtMs: 3 })
  expect(await stateIn([old, second, gone])('key_1')).toMatchObject({ reason: 'revoked' })
  const inGrace = rotated({ expiresAtMs: nowMs + 1 })
  expect(await stateIn([inGrace, second, gone])('key_1')).toMatchObject({ state: 'active' })
  const ring = [old, key('key_2', { revokedAtMs: 2, followedBy: 'key_1' })]
  expect(await stateIn(ring)('key_1')).toMatchObject({ state: 'ended' })
})

it.each([
  ['still is', undefined],
  ['is revoked', 9],
])(
  'G12: a key that was rotated before successors were kept ends by itself, whether its newest %s',
  async (_what, revokedAtMs) => {
    // Keys before migration 0019 have no known successor, so nothing goes on with such a key after its time of grace.
    const newest = key('key_2', { ...(revokedAtMs !== undefined && { revokedAtMs }) })
    const reasonOf = async (more: Partial<KeyView>) =>
      stateIn([key('key_1', more), newest])('key_1')
    expect(await reasonOf({ expiresAtMs: nowMs + 1 })).toEqual({
      state: 'active',
      endsAtMs: nowMs + 1,
    })
    expect(await reasonOf({ expiresAtMs: nowMs })).toEqual({ state: 'ended', reason: 'expired' })
    expect(await reasonOf({ revokedAtMs: 1 })).toEqual({ state: 'ended', reason: 'revoked' })
  },
)

it('G12: a sign-in ends when it is taken back, not when it runs out, nor when it is made anew', async () => {
  const grant = (more: Partial<OAuthGrant>) => ({ id: 'grant_1', expiresAtMs: nowMs + 1, ...more })
  const stateOf = (...grants: Partial<OAuthGrant>[]) => stateIn([], grants)('grant_1')
  expect(await stateOf(grant({ expiresAtMs: 1 }))).toEqual({ state: 'active' })
  expect(await stateOf(grant({ revokedAtMs: 1 }))).toEqual({ state: 'ended', reason: 'revoked' })
  const replaced = grant({ revokedAtMs: 1, followedBy: 'grant_2' })
  expect(await stateOf(replaced, { id: 'grant_2' })).toEqual({ state: 'active' })
  expect(await stateOf(replaced, { id: 'grant_2', revokedAtMs: 2 })).toMatchObject({
    state: 'ended',
  })
})
