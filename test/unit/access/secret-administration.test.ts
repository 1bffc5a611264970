import { describe, expect, it } from 'vitest'
import { createLearnedSecrets, createRedactor } from '../../../src/features/record/redactor.ts'
import { createSealing, createSecretReader } from '../../../src/features/access/secrets/sealing.ts'
import { createSecretAdministration } from '../../../src/features/access/secrets/secret-administration.ts'
import { createMemorySecrets, masterKeyOf, sealingSources } from '../../fakes/secrets.ts'
import { dataOf } from '../../fakes/events.ts'

const by = { principal: 'operator', trace: 't1', requestId: 'req_1' }
const canary = 'canary-0123456789'

function setUp(secrets = createMemorySecrets(), keys = [masterKeyOf(1)]) {
  const learned = createLearnedSecrets()
  const deps = {
    secrets,
    sealing: createSealing({ current: keys[0], previous: keys[1] }, sealingSources),
    learn: learned.learn,
  }
  return {
    secrets,
    redact: createRedactor([], learned),
    read: createSecretReader(deps),
    ...createSecretAdministration({ ...deps, clock: { nowMs: () => 1_000 } }),
  }
}

describe('secrets of plugins', () => {
  it('are set, read by the host, listed without value, set anew and removed, each on the record', async () => {
    const { set, read, list, remove, secrets } = setUp()
    await set({ name: 'TOKEN', value: canary }, by)
    expect(await read(['TOKEN', 'OTHER'])).toEqual(new Map([['TOKEN', canary]]))
    await set({ name: 'TOKEN', value: `${canary}-2` }, { ...by, principal: 'ann' })
    // I28: holds for the very next use.
    expect((await read(['TOKEN'])).get('TOKEN')).toBe(`${canary}-2`)
    expect(await list()).toEqual([
      { name: 'TOKEN', keyId: expect.any(String) as string, setBy: 'ann', setAtMs: 1_000 },
    ])
    await remove('TOKEN', by)
    expect(await read(['TOKEN'])).toEqual(new Map())
    const data = { name: 'TOKEN', request: 'req_1' }
    expect(secrets.events.map(({ type, data: about }) => [type, about])).toEqual([
      ['secret_set', data],
      ['secret_set', data],
      ['secret_removed', data],
    ])
    expect(JSON.stringify([secrets.events, ...secrets.rows])).not.toContain('canary')
  })

  it('T4: are unknown to no log from the moment they are set or used', async () => {
    const first = setUp()
    await first.set({ name: 'TOKEN', value: canary }, by)
    expect(first.redact(`a ${canary} b ${btoa(canary)}`)).not.toMatch(/canary|Y2FuYX/)
    const second = setUp(first.secrets)
    expect(second.redact(canary)).toBe(canary)
    await second.read(['TOKEN'])
    expect(second.redact(`${canary}${canary}`)).toBe('[redacted][redacted]')
  })

  it.each([
    ['token', canary, 'name'],
    ['', canary, 'name'],
    ['A'.repeat(65), canary, 'name'],
    ['__proto__', canary, 'name'],
    ['TOKEN', '', 'value'],
    ['TOKEN', 'v'.repeat(16_385), 'value'],
    ['TOKEN', `${canary}\0`, 'value'],
    ['TOKEN', `${canary}\uD800`, 'value'],
  ])('named %j are refused (%#), without the value in the words', async (name, value, param) => {
    const { set, secrets } = setUp()
    const error: unknown = await set({ name, value }, by).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'request_invalid', param })
    expect(String(error)).not.toContain('canary')
    expect(secrets.rows.size).toBe(0)
  })

  it('that are not there cannot be removed', async () => {
    for (const name of ['TOKEN', 'rotate', ''])
      await expect(setUp().remove(name, by)).rejects.toMatchObject({ code: 'request_not_found' })
  })
})

describe('a rotation', () => {
  it('seals all anew under the new key, once, and the old key is needed no more', async () => {
    const { secrets, set } = setUp()
    const names = Array.from({ length: 60 }, (_, index) => `S${index}`)
    for (const name of names) await set({ name, value: `${canary}-${name}` }, by)
    const during = setUp(secrets, [masterKeyOf(2), masterKeyOf(1)])
    await during.set({ name: 'NEW', value: canary }, by)
    expect(await during.rotate(by)).toEqual({ rotated: 60, current: 1, failed: [] })
    expect(await during.rotate(by)).toEqual({ rotated: 0, current: 61, failed: [] })
    const after = setUp(secrets, [masterKeyOf(2)])
    expect((await after.read(['S7'])).get('S7')).toBe(`${canary}-S7`)
    expect([...secrets.rows.values()].every(({ setBy }) => setBy === 'operator')).toBe(true)
    const told = secrets.events.filter(({ type }) => type === 'secrets_rotated')
    expect(told.map((event) => dataOf(event)['count'])).toEqual([50, 10])
  })

  it('goes on past one that no key opens, and says which', async () => {
    const lost = setUp(createMemorySecrets(), [masterKeyOf(9)])
    await lost.set({ name: 'LOST', value: canary }, by)
    const first = setUp(lost.secrets)
    await first.set({ name: 'TOKEN', value: canary }, by)
    const { rotate } = setUp(lost.secrets, [masterKeyOf(2), masterKeyOf(1)])
    expect(await rotate(by)).toEqual({
      rotated: 1,
      current: 0,
      failed: [
        { name: 'LOST', message: expect.stringContaining('isola secret set LOST') as string },
      ],
    })
  })

  it('does not begin without a key', async () => {
    await expect(setUp(createMemorySecrets(), []).rotate(by)).rejects.toMatchObject({
      code: 'config_missing',
    })
  })
})
