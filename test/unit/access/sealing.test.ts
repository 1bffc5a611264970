import { describe, expect, it } from 'vitest'
import { createSealing } from '../../../src/features/access/secrets/sealing.ts'
import { masterKeyOf, sealingSources } from '../../fakes/secrets.ts'

const [key, otherKey] = [masterKeyOf(1), masterKeyOf(2)]
const open = (current: string | undefined, previous?: string) =>
  createSealing({ current, previous }, sealingSources)
const seal = (value = 'ghp_value') => open(key).seal('TOKEN', value)

describe('I28: a sealed secret', () => {
  it.each(['x', 'ghp_0123456789', 'ä€😀\n\t"\\', '\uFEFFbom', 'v'.repeat(16_384)])(
    'is opened as it was: %#',
    async (value) => expect(await open(key).open(await seal(value))).toBe(value),
  )

  it('shows nothing of the value, and the same value looks different each time', async () => {
    const [one, other] = [await seal(), await seal()]
    expect(one.sealed).not.toBe(other.sealed)
    expect(one.sealed).not.toContain('ghp_value')
    expect(one.sealed).not.toContain(btoa('ghp_value').slice(0, 8))
    expect(one.keyId).toBe(other.keyId)
    expect(one.keyId).toMatch(/^[0-9a-f]{16}$/)
  })

  it('cannot stand for another one', async () => {
    await expect(open(key).open({ ...(await seal()), name: 'OTHER' })).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'The secret OTHER is damaged. Set it again: isola secret set OTHER',
    })
  })

  it('does not open with one bit changed, cut, or in another format', async () => {
    const { sealed, ...rest } = await seal()
    const [version, iv = '', text = ''] = sealed.split('.')
    const flipped = (part: string) =>
      part.startsWith('A') ? `B${part.slice(1)}` : `A${part.slice(1)}`
    for (const bad of [
      [version, flipped(iv), text],
      [version, iv, flipped(text)],
      [version, iv, text.slice(0, -4)],
      [version, iv, ''],
      ['v2', iv, text],
      ['v1', '%', '%'],
      [''],
    ])
      await expect(open(key).open({ ...rest, sealed: bad.join('.') })).rejects.toThrow(
        'The secret TOKEN is damaged.',
      )
  })

  it('under a key that is not here says which secret it is and what to do', async () => {
    await expect(open(otherKey).open(await seal())).rejects.toMatchObject({
      code: 'config_invalid',
      message:
        'The secret TOKEN is sealed under a key that is not here. Set ISOLA_MASTER_KEY_PREVIOUS to that key and run `isola secret rotate`, or set the secret again: isola secret set TOKEN',
    })
  })

  it('opens with the previous key while there is one', async () => {
    const sealing = open(otherKey, key)
    const old = await seal()
    expect(await sealing.open(old)).toBe('ghp_value')
    expect(sealing.isCurrent(old)).toBe(false)
    expect(sealing.isCurrent(await sealing.seal('TOKEN', 'new'))).toBe(true)
  })
})

describe('without a key that is one', () => {
  it.each([
    [undefined, undefined, 'config_missing', 'ISOLA_MASTER_KEY is not set: make one'],
    ['', undefined, 'config_missing', 'ISOLA_MASTER_KEY is not set'],
    ['secret', undefined, 'config_invalid', 'ISOLA_MASTER_KEY is not 32 bytes as base64'],
    [btoa('x'.repeat(31)), undefined, 'config_invalid', 'ISOLA_MASTER_KEY is not 32 bytes'],
    [key, 'short', 'config_invalid', 'ISOLA_MASTER_KEY_PREVIOUS is not 32 bytes as base64'],
  ])('%s, %s: nothing is sealed or opened', async (current, previous, code, message) => {
    const sealing = open(current, previous)
    const expected = { code, message: expect.stringContaining(message) as string }
    expect(sealing.problem()).toMatchObject(expected)
    await expect(sealing.seal('A', 'value')).rejects.toMatchObject(expected)
    await expect(sealing.open(await seal())).rejects.toMatchObject(expected)
  })
})
