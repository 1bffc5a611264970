import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import type { KeyView } from '../../../src/features/access/types/keys.ts'
import {
  createAuthenticator,
  type AuthenticatorOptions,
} from '../../../src/features/access/logins.ts'
import { sha256 } from '../../fakes/kernel.ts'
import { noOtherKeys } from '../../fakes/keys.ts'

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
  const authenticate = createAuthenticator({ ...noOtherKeys, operatorKey: 'isk_right' })

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
      const refused = createAuthenticator({ ...noOtherKeys, operatorKey })('Bearer ')
      await expect(refused).rejects.toMatchObject({
        code: 'request_auth_not_configured',
        message: expect.stringContaining('wrangler secret put ISOLA_OPERATOR_KEY'),
      })
    },
  )

  it('is compared by hash, so that neither its length nor a shared start shows', async () => {
    const compared: string[] = []
    const hash = (text: string) => (compared.push(text), sha256(text))
    const authenticate = createAuthenticator({
      ...noOtherKeys,
      operatorKey: 'isk_right',
      sha256: hash,
    })
    await expect(authenticate('Bearer isk_righ')).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
    expect(compared).toEqual(['isk_right', 'isk_righ'])
  })
})

describe('any other key', () => {
  const nowMs = 1_790_000_000_000
  const secret = 'isk_of_alice'
  const view: KeyView = {
    id: 'key_1',
    principal: 'alice',
    role: 'user',
    agents: ['code-reviewer'],
    models: ['openai/small'],
    limits: { tokens: 500 },
    hint: 'isk_of_a',
    createdAtMs: 1,
  }

  function open(key: KeyView | undefined, more: Partial<AuthenticatorOptions> = {}) {
    const asked: string[] = []
    const failures: unknown[] = []
    const authenticate = createAuthenticator({
      operatorKey: 'isk_right',
      sha256,
      clock: { nowMs: () => nowMs },
      keys: {
        findByHash: async (hash) => {
          asked.push(hash)
          return hash === sha256(secret) ? key : undefined
        },
      },
      logins: {
        failed: async (client, shown) => {
          failures.push([client, shown === 'token' ? shown : shown?.id])
          return {}
        },
      },
      limits: { stranger: async () => {} },
      ...more,
    })
    return { authenticate, asked, failures }
  }

  it('I26: makes its holder the principal it belongs to, with what that one may', async () => {
    const { authenticate, asked, failures } = open(view)
    expect(await authenticate(`Bearer ${secret}`)).toEqual({
      id: 'alice',
      key: 'key_1',
      role: 'user',
      agents: ['code-reviewer'],
      models: ['openai/small'],
      limits: { tokens: 500, asOfMs: nowMs },
    })
    expect([asked, failures]).toEqual([[sha256(secret)], []])
  })

  it('I26: is looked up anew with each request, so that it ends with the next one', async () => {
    let key: KeyView = view
    const { authenticate } = open(undefined, { keys: { findByHash: async () => key } })
    await authenticate(`Bearer ${secret}`)
    key = { ...view, revokedAtMs: nowMs }
    await expect(authenticate(`Bearer ${secret}`)).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
  })

  it.each([
    ['a wrong one', undefined, undefined],
    ['one that is revoked', { ...view, revokedAtMs: nowMs + 9 }, 'key_1'],
    ['one that expires at this moment', { ...view, expiresAtMs: nowMs }, 'key_1'],
  ])('T1, I26: refuses %s, all in the same words, and counts it', async (_name, key, id) => {
    const { authenticate, failures } = open(key)
    const client = { address: '192.0.2.1', requestId: 'req_1' }
    await expect(authenticate(`Bearer ${secret}`, client)).rejects.toMatchObject({
      code: 'request_unauthenticated',
      message: 'The key is not valid.',
    })
    expect(failures).toEqual([[client, id]])
  })

  it('answers 429 with how long to wait after too many', async () => {
    const { authenticate } = open(undefined, {
      logins: { failed: async () => ({ retryAfterMs: 90_000 }) },
    })
    await expect(authenticate('Bearer wrong')).rejects.toMatchObject({
      code: 'request_login_limited',
      retryAfterMs: 90_000,
    })
  })

  it('neither counts nor looks up what is no key at all, nor the operator key', async () => {
    const { authenticate, asked, failures } = open(undefined)
    await expect(authenticate('Basic abc')).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
    await authenticate('Bearer isk_right')
    expect([asked, failures]).toEqual([[], []])
  })

  it('F15: with the database away it is unavailable, and the operator key works', async () => {
    const away = new IsolaError('request_unavailable', 'Later.')
    const { authenticate, failures } = open(undefined, {
      keys: { findByHash: () => Promise.reject(away) },
    })
    await expect(authenticate(`Bearer ${secret}`)).rejects.toBe(away)
    expect(await authenticate('Bearer isk_right')).toMatchObject({ id: 'operator' })
    expect(failures).toEqual([])
  })

  it('T27: is looked up only if its network has not brought too many that are not known', async () => {
    const limited = new IsolaError('request_rate_limited', 'Later.')
    let isLimited = true
    const limits = { stranger: async () => (isLimited ? Promise.reject(limited) : undefined) }
    const { authenticate, asked, failures } = open(view, { limits })
    await expect(authenticate(`Bearer ${secret}`)).rejects.toBe(limited)
    expect([asked, failures]).toEqual([[], []])
    expect(await authenticate('Bearer isk_right')).toMatchObject({ id: 'operator' })
    isLimited = false
    await authenticate(`Bearer ${secret}`)
    // A caller with a valid key is not refused for the guesses of others in its network.
    isLimited = true
    expect(await authenticate(`Bearer ${secret}`)).toMatchObject({ id: 'alice' })
    await expect(authenticate('Bearer isk_guess')).rejects.toBe(limited)
    expect(asked).toHaveLength(2)
  })

  it('T27: counts a wrong token, and says that it is not valid', async () => {
    const asked: string[] = []
    const tokens = {
      principalOf: async (token: string) => void asked.push(token),
      challenge: () => undefined,
    }
    const { authenticate, failures } = open(undefined, { tokens })
    const client = { address: '192.0.2.1', url: 'https://isola.test/mcp' }
    await expect(authenticate('Bearer a:b:c', client)).rejects.toMatchObject({
      code: 'request_unauthenticated',
    })
    expect([asked, failures]).toEqual([['a:b:c'], [[client, 'token']]])
  })
})
