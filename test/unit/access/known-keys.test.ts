import { describe, expect, it } from 'vitest'
import { createClaimCheck, createKnownKeys } from '../../../src/features/access/known-keys.ts'
import type { KeyView } from '../../../src/features/access/types/keys.ts'
import { sha256 } from '../../fakes/kernel.ts'

const startMs = 1_790_000_000_000
const secret = 'isk_of_alice'
const bearer = `Bearer ${secret}`
const key: KeyView = {
  id: 'key_1',
  principal: 'alice',
  role: 'user',
  agents: ['code-reviewer'],
  limits: { tokens: 500 },
  hint: 'isk_of_a',
  createdAtMs: 1,
}

function open(noted: KeyView = key) {
  const clock = { now: startMs, nowMs: () => clock.now }
  const known = createKnownKeys({ clock: clock as never, sha256 })
  known.note(sha256(secret), noted, startMs)
  return { clock, known }
}

describe('a key that an isolate remembers', () => {
  it('T1: names its principal, with the limits of when it was looked up and a claim', () => {
    const { clock, known } = open()
    clock.now += 60_000
    expect(known.claim(bearer)).toEqual({
      id: 'alice',
      role: 'user',
      agents: ['code-reviewer'],
      limits: { tokens: 500, asOfMs: startMs },
      key: 'key_1',
      claim: expect.stringContaining('key_1'),
    })
  })

  it('T1: is another key with one letter more or less', () => {
    const { known } = open()
    for (const header of [
      undefined,
      '',
      secret,
      `${bearer}2`,
      bearer.slice(0, -1),
      `Basic ${secret}`,
    ])
      expect(known.claim(header)).toBeUndefined()
  })

  it.each([
    ['an operator has', { role: 'operator' }],
    ['an auditor has', { role: 'auditor' }],
    ['was revoked', { revokedAtMs: startMs }],
    ['has ended', { expiresAtMs: startMs }],
  ] as const)('T1: says nothing of a key that %s', (_name, more) => {
    expect(open({ ...key, ...more }).known.claim(bearer)).toBeUndefined()
  })

  it('T1: says nothing from its end on, after a quarter of an hour, or by a clock that was set back', () => {
    const ending = open({ ...key, expiresAtMs: startMs + 10 })
    ending.clock.now += 9
    expect(ending.known.claim(bearer)).toBeDefined()
    ending.clock.now += 1
    expect(ending.known.claim(bearer)).toBeUndefined()
    const { clock, known } = open()
    clock.now = startMs + 899_999
    expect(known.claim(bearer)).toBeDefined()
    clock.now = startMs + 900_000
    expect(known.claim(bearer)).toBeUndefined()
    clock.now = startMs - 1
    expect(known.claim(bearer)).toBeUndefined()
  })

  it('T1: is forgotten alone, or with all others', () => {
    const one = open()
    one.known.forget(sha256(secret))
    expect(one.known.claim(bearer)).toBeUndefined()
    const other = open()
    other.known.clear()
    expect(other.known.claim(bearer)).toBeUndefined()
  })
})

describe('a claim', () => {
  const { claim, id: principal } = open().known.claim(bearer)!
  const holds = (found: KeyView | undefined, more: object = {}) =>
    createClaimCheck({ keys: { find: async () => found }, clock: { nowMs: () => startMs } })({
      principal,
      key: 'key_1',
      claim: claim!,
      ...more,
    })

  it('G12: holds while the key does, and says what the database says', async () => {
    expect(await holds({ ...key })).toBe(true)
    // In whatever order the database names it.
    expect(await holds(Object.fromEntries(Object.entries(key).toReversed()) as never)).toBe(true)
  })

  it.each([
    ['is gone', undefined],
    ['was revoked', { ...key, revokedAtMs: 1 }],
    ['has ended', { ...key, expiresAtMs: startMs }],
    ['ends now, and did not', { ...key, expiresAtMs: startMs + 1 }],
    ['was rotated', { ...key, followedBy: 'key_2' }],
    ['is of another principal', { ...key, principal: 'bob' }],
    ['has another role', { ...key, role: 'auditor' as const }],
    ['has other agents', { ...key, agents: [] }],
    ['has models', { ...key, models: [] }],
    ['has other limits', { ...key, limits: { tokens: 499 } }],
    ['has another persona', { ...key, persona: 'pirate' }],
  ])('G12: does not hold once the key %s', async (_name, found) => {
    expect(await holds(found)).toBe(false)
  })

  it('G12: does not hold for another principal, or without a key', async () => {
    expect(await holds(key, { principal: 'bob' })).toBe(false)
    expect(await holds(key, { key: undefined })).toBe(false)
    expect(await holds(key, { claim: '' })).toBe(false)
  })
})
