import { describe, expect, it } from 'vitest'
import { stateOf } from '../../../src/features/access/types/keys.ts'
import { type Rights } from '../../../src/contracts/keys.ts'
import { createKeyAdministration } from '../../../src/features/access/key-administration.ts'
import { createCountedSources } from '../../fakes/http-deps.ts'
import { createMemoryKeys } from '../../fakes/keys.ts'
import { sha256 } from '../../fakes/kernel.ts'

const startMs = 1_790_000_000_000
const by = { principal: 'root', trace: 'ab'.repeat(16), requestId: 'req_1' }
const rights: Rights = { role: 'user', agents: ['orchestrator'], limits: { tokens: 100 } }

function open() {
  const { sources, tick } = createCountedSources()
  const keys = createMemoryKeys()
  return { administration: createKeyAdministration({ ...sources, sha256, keys }), keys, tick }
}

describe('adding a key', () => {
  it('I28: shows the key once, keeps its hash, and puts neither on the record', async () => {
    const { administration, keys } = open()
    const { key, secret } = await administration.add({ principal: 'alice', rights }, by)
    expect(secret).toMatch(/^isk_[0-9A-Za-z]{22}$/)
    expect(key).toMatchObject({ principal: 'alice', ...rights, hint: secret.slice(0, 8) })
    expect(keys.hashes.get(sha256(secret))).toBe(key.id)
    const kept = JSON.stringify([await administration.list({ limit: 9 }), keys.events])
    expect(kept).not.toContain(secret)
    expect(kept).not.toContain(sha256(secret))
  })

  it('is on the record with who did it and what the principal may', async () => {
    const { administration, keys } = open()
    const { key } = await administration.add({ principal: 'alice', rights }, by)
    expect(keys.events).toEqual([
      {
        type: 'key_added',
        principal: 'root',
        trace: by.trace,
        atMs: startMs,
        data: {
          key: key.id,
          owner: 'alice',
          expiresAtMs: null,
          role: 'user',
          agents: ['orchestrator'],
          models: null,
          dailyTokens: 100,
          dailyCostNanoUsd: null,
          request: 'req_1',
        },
      },
    ])
  })

  it('P11: has a persona of its own, which is on the record and goes on with the key that follows', async () => {
    const { administration, keys } = open()
    const { key } = await administration.add({ principal: 'alice', rights, persona: 'calm' }, by)
    expect(key.persona).toBe('calm')
    expect(keys.events[0]?.data).toMatchObject({ persona: 'calm' })
    expect((await administration.rotate(key.id, {}, by)).key.persona).toBe('calm')
    expect((await administration.add({ principal: 'alice' }, by)).key).not.toHaveProperty('persona')
  })

  it('gives a principal that is there another one with the same rights', async () => {
    const { administration } = open()
    const first = await administration.add({ principal: 'alice', rights }, by)
    const second = await administration.add({ principal: 'alice' }, by)
    expect(second.key).toMatchObject(rights)
    expect(second.secret).not.toBe(first.secret)
  })

  it.each([
    ['a principal that is not there, without a role', { principal: 'bob' }, 'role'],
    ['the name of the operator key', { principal: 'operator', rights }, 'principal'],
    [
      'an end in the past',
      { principal: 'bob', rights, end: { expiresAtMs: startMs } },
      'expiresAtMs',
    ],
  ])('refuses %s, and names the field', async (_name, request, param) => {
    const { administration, keys } = open()
    const refused = administration.add(request, by)
    await expect(refused).rejects.toMatchObject({ code: 'request_invalid', param })
    expect(keys.events).toEqual([])
  })

  it.each([
    [{ expiresInMs: 1_000 }, startMs + 1_000],
    [{ expiresAtMs: startMs + 5 }, startMs + 5],
    [{}, undefined],
  ])('with %j it ends at %s', async (end, expiresAtMs) => {
    const { administration } = open()
    const { key } = await administration.add({ principal: 'alice', rights, end }, by)
    expect(key.expiresAtMs).toBe(expiresAtMs)
  })
})

describe('changing a principal', () => {
  it('keeps what is not named, takes away what is null, and is on the record', async () => {
    const { administration, keys } = open()
    await administration.add({ principal: 'alice', rights }, by)
    const change = { role: 'author', agents: null, costNanoUsd: 7 } as const
    const expected = { role: 'author', limits: { tokens: 100, costNanoUsd: 7 } }
    expect(await administration.change('alice', change, by)).toEqual(expected)
    expect(await keys.rightsOf('alice')).toEqual(expected)
    expect(keys.events.at(-1)).toMatchObject({
      type: 'principal_changed',
      principal: 'root',
      data: { owner: 'alice', role: 'author', agents: null, dailyTokens: 100 },
    })
    expect(await administration.change('alice', { tokens: null }, by)).toMatchObject({
      limits: { costNanoUsd: 7 },
    })
  })

  it('refuses one that is not there', async () => {
    const { administration, keys } = open()
    const refused = administration.change('nobody', { role: 'operator' }, by)
    await expect(refused).rejects.toMatchObject({ code: 'request_not_found' })
    expect(keys.events).toEqual([])
  })
})

describe('revoking a key', () => {
  it('ends it at once; the same again changes nothing and is not on the record', async () => {
    const { administration, keys, tick } = open()
    const { key } = await administration.add({ principal: 'alice', rights }, by)
    tick(5)
    const revoked = await administration.revoke(key.id, by)
    tick(5)
    expect(await administration.revoke(key.id, by)).toEqual(revoked)
    expect(revoked.revokedAtMs).toBe(startMs + 5)
    expect(keys.events.map(({ type }) => type)).toEqual(['key_added', 'key_revoked'])
  })

  it('refuses a key that is not there', async () => {
    const refused = open().administration.revoke('key_x', by)
    await expect(refused).rejects.toMatchObject({ code: 'request_not_found' })
  })
})

describe('rotating a key', () => {
  it('makes another for the same principal, and ends the old one at once', async () => {
    const { administration, keys } = open()
    const old = await administration.add({ principal: 'alice', rights }, by)
    const { key, secret } = await administration.rotate(old.key.id, {}, by)
    expect(key).toMatchObject({ principal: 'alice', ...rights })
    expect(secret).not.toBe(old.secret)
    expect(stateOf((await keys.find(old.key.id))!, startMs)).toBe('revoked')
    expect(keys.events.at(-1)).toMatchObject({
      type: 'key_rotated',
      data: { key: old.key.id, newKey: key.id, owner: 'alice', endsAtMs: startMs },
    })
  })

  it('lets the old one live for the time of grace', async () => {
    const { administration, keys } = open()
    const old = await administration.add({ principal: 'alice', rights }, by)
    await administration.rotate(old.key.id, { graceMs: 60_000 }, by)
    const left = (await keys.find(old.key.id))!
    expect(stateOf(left, startMs + 59_999)).toBe('active')
    expect(stateOf(left, startMs + 60_000)).toBe('expired')
  })

  it('gives the new one the end of the old one, or the one that is asked for', async () => {
    const { administration } = open()
    const end = { expiresInMs: 1_000 }
    const old = await administration.add({ principal: 'alice', rights, end }, by)
    const next = await administration.rotate(old.key.id, {}, by)
    expect(next.key.expiresAtMs).toBe(startMs + 1_000)
    const last = await administration.rotate(next.key.id, { end: { expiresInMs: 9_000 } }, by)
    expect(last.key.expiresAtMs).toBe(startMs + 9_000)
  })

  it.each(['revoked', 'expired'])('refuses one that is %s, and makes none', async (state) => {
    const { administration, keys, tick } = open()
    const end = { expiresInMs: 10 }
    const { key } = await administration.add({ principal: 'alice', rights, end }, by)
    if (state === 'revoked') await administration.revoke(key.id, by)
    else tick(10)
    const before = keys.events.length
    const refused = administration.rotate(key.id, {}, by)
    await expect(refused).rejects.toMatchObject({ code: 'request_conflict' })
    expect([keys.events.length, (await administration.list({ limit: 9 })).length]).toEqual([
      before,
      1,
    ])
  })
})
