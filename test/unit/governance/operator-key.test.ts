import { describe, expect, it } from 'vitest'
import { createAuthenticator } from '../../../src/governance/operator-key.ts'
import { sha256 } from '../../fakes/kernel.ts'

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
  const authenticate = createAuthenticator({ operatorKey: 'isk_right', sha256 })

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
      const refused = createAuthenticator({ operatorKey, sha256 })('Bearer ')
      await expect(refused).rejects.toMatchObject({
        code: 'request_auth_not_configured',
        message: expect.stringContaining('wrangler secret put ISOLA_OPERATOR_KEY'),
      })
    },
  )

  it('is compared by hash, so that neither its length nor a shared start shows', async () => {
    const compared: string[] = []
    const hash = (text: string) => (compared.push(text), sha256(text))
    const authenticate = createAuthenticator({ operatorKey: 'isk_right', sha256: hash })
    await expect(authenticate('Bearer isk_righ')).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
    expect(compared).toEqual(['isk_right', 'isk_righ'])
  })
})
