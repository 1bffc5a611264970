import { describe, expect, it, vi } from 'vitest'
import { createAuthenticator } from '../../../src/governance/operator-key.ts'

const refusals = [
  ['no header', undefined],
  ['an empty header', ''],
  ['another scheme', 'Basic isk_right'],
  ['a wrong key', 'Bearer isk_wrong'],
  ['a prefix of the key', 'Bearer isk_righ'],
  ['the key and more', 'Bearer isk_right2'],
  ['two keys', 'Bearer isk_right isk_right'],
  ['the key alone', 'isk_right'],
] as const

describe('the operator key', () => {
  const authenticate = createAuthenticator({ operatorKey: 'isk_right' })

  it('makes its holder the operator', async () => {
    expect(await authenticate('Bearer isk_right')).toEqual({ id: 'operator', role: 'operator' })
  })

  it('is accepted whatever the case of the scheme', async () => {
    expect(await authenticate('bearer isk_right')).toMatchObject({ role: 'operator' })
  })

  it.each(refusals)('refuses %s', async (_name, header) => {
    await expect(authenticate(header)).rejects.toMatchObject({ code: 'request_unauthenticated' })
  })

  it.each([undefined, ''])(
    'refuses everybody when it is %j, and says how to set one',
    async (operatorKey) => {
      const refused = createAuthenticator({ operatorKey })('Bearer ')
      await expect(refused).rejects.toMatchObject({
        code: 'request_auth_not_configured',
        message: expect.stringContaining('wrangler secret put ISOLA_OPERATOR_KEY'),
      })
    },
  )

  it('is compared by hash with the platform primitive where there is one', async () => {
    const timingSafeEqual = vi.fn((a: Uint8Array, b: Uint8Array) => a.every((x, i) => x === b[i]))
    Object.assign(crypto.subtle, { timingSafeEqual })
    try {
      await expect(authenticate('Bearer short')).rejects.toMatchObject({
        code: 'request_unauthenticated',
      })
      expect(await authenticate('Bearer isk_right')).toMatchObject({ id: 'operator' })
      expect(timingSafeEqual.mock.calls.flat().map(({ length }) => length)).toEqual([
        32, 32, 32, 32,
      ])
    } finally {
      Reflect.deleteProperty(crypto.subtle, 'timingSafeEqual')
    }
  })
})
