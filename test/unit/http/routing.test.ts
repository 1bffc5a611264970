import { describe, expect, it } from 'vitest'
import { createAuthenticator } from '../../../src/features/access/logins.ts'
import { statusOf } from '../../../src/platform/routes/errors.ts'
import { createFakeApp, errorOf, testKey, testSession } from '../../fakes/http-deps.ts'
import { noOtherKeys } from '../../fakes/keys.ts'

describe('a request id', () => {
  it.each(['/healthz', '/v1/models', '/nowhere', '/api/sessions'])(
    'is on the answer of %s',
    async (path) => {
      const { send } = createFakeApp()
      expect((await send(path)).headers.get('x-request-id')).toMatch(/^req_\d{22}$/)
    },
  )

  it('is the same in the header and the error', async () => {
    const response = await createFakeApp().send('/nowhere')
    const error = await errorOf(response)
    expect(error.request_id).toBe(response.headers.get('x-request-id'))
  })
})

describe('/healthz', () => {
  it('is open, whatever state the deployment is in', async () => {
    const { app } = createFakeApp({
      deps: {
        readiness: async () => ({ state: 'not_migrated', message: 'x' }),
        authenticate: createAuthenticator(noOtherKeys),
      },
    })
    const response = await app.request('/healthz')
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
  })
})

describe('a request to a host without a key', () => {
  it.each([
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/oauth-protected-resource',
    '/.well-known/security.txt',
  ])('is 404 where there is none: %s', async (path) => {
    const { app } = createFakeApp()
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
      const response = await app.request(path, { method })
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([404, null])
    }
  })
})

describe('without a valid key', () => {
  it.each([
    '/',
    '/nowhere',
    '/v1/models',
    '/v1/chat/completions',
    '/api/operator/audit',
    '/api/sessions/x',
  ])('%s is refused alike', async (path) => {
    const { app } = createFakeApp()
    for (const method of ['GET', 'POST', 'PUT', 'OPTIONS', 'HEAD']) {
      const response = await app.request(path, { method })
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(response.headers.get('allow')).toBeNull()
    }
  })

  it('a wrong key is 401 in the OpenAI shape', async () => {
    const headers = { authorization: 'Bearer wrong' }
    const response = await createFakeApp().send('/v1/models', { headers })
    expect(await response.json()).toEqual({
      error: {
        type: 'authentication_error',
        code: 'unauthenticated',
        message: 'The key is not valid.',
        param: null,
        request_id: response.headers.get('x-request-id'),
      },
    })
  })

  it('a deployment without a key refuses with how to set one', async () => {
    const { send } = createFakeApp({ deps: { authenticate: createAuthenticator(noOtherKeys) } })
    const response = await send('/v1/models')
    const error = await errorOf(response)
    expect([response.status, error.code]).toEqual([503, 'auth_not_configured'])
    expect(error.message).toContain('npm start')
  })
})

describe('a database without its tables', () => {
  const readiness = async () => ({ state: 'not_migrated', message: 'Run this.' }) as const

  it.each(['/v1/models', '/nowhere', '/api/operator/health'])(
    'answers %s with the command',
    async (path) => {
      const response = await createFakeApp({ deps: { readiness } }).send(path)
      const error = await errorOf(response)
      expect([response.status, error.code, error.message]).toEqual([
        503,
        'config_not_migrated',
        'Run this.',
      ])
    },
  )

  it('that cannot be reached refuses no caller', async () => {
    const { send } = createFakeApp({ deps: { readiness: async () => ({ state: 'unreachable' }) } })
    expect((await send('/v1/models')).status).toBe(200)
  })
})

describe('methods', () => {
  it('HEAD answers like GET without a body', async () => {
    const response = await createFakeApp().send('/v1/models', { method: 'HEAD' })
    expect([response.status, await response.text()]).toEqual([200, ''])
  })

  it('OPTIONS says what is allowed', async () => {
    const response = await createFakeApp().send(`/api/sessions/${testSession}`, {
      method: 'OPTIONS',
    })
    expect([response.status, response.headers.get('allow')]).toEqual([
      204,
      'GET, POST, DELETE, HEAD, OPTIONS',
    ])
  })

  it('a trailing slash makes no difference', async () => {
    expect((await createFakeApp().send('/v1/models/')).status).toBe(200)
    expect((await createFakeApp().send('/api/sessions/', { json: {} })).status).toBe(201)
  })
})

describe('a fault inside', () => {
  const faults = [
    ['an error without a code', new TypeError('secret at /srv/x.ts:1')],
    ['an error with a foreign code', Object.assign(new Error('secret'), { code: 'ECONNRESET' })],
    ['a thrown string', 'secret'],
    ['a thrown object', { secret: true }],
  ] as const

  it.each(faults)(
    '%s is a 500 that tells nothing, and reaches the operator',
    async (_name, fault) => {
      const { send, faults: seen } = createFakeApp({ fault })
      const response = await send(`/api/sessions/${testSession}`)
      const text = await response.text()
      expect([response.status, JSON.parse(text).error.code]).toEqual([500, 'internal_error'])
      expect(text).not.toContain('secret')
      expect(text).toContain(response.headers.get('x-request-id'))
      expect(seen).toHaveLength(1)
    },
  )

  it.each([
    ['model_rate_limited', 429],
    ['model_timeout', 504],
    ['model_unavailable', 502],
    ['model_not_configured', 502],
    ['request_conflict', 409],
    ['request_idempotency_mismatch', 422],
    ['request_queue_full', 429],
    ['request_unavailable', 503],
    ['request_forbidden', 403],
    ['config_missing', 503],
    ['lease_tokens', 429],
    ['tool_failed', 500],
  ])('%s becomes %i', async (code, status) => {
    expect(statusOf(code)).toBe(status)
    const { send } = createFakeApp({ refusal: { code, message: 'Because.', param: 'x' } })
    const response = await send(`/api/sessions/${testSession}/runs`, { json: { task: 'Hi' } })
    const error = await errorOf(response)
    expect([response.status, error.message, error.param]).toEqual([status, 'Because.', 'x'])
    expect(error.code).toBe(code.replace('request_', ''))
    expect(response.headers.get('retry-after')).toBe([429, 503].includes(status) ? '5' : null)
  })

  it.each([
    [2_000, '2'],
    [2_001, '3'],
    [1, '1'],
    [0, '1'],
  ])('a refusal to be repeated after %i ms says retry-after: %s', async (retryAfterMs, seconds) => {
    for (const code of ['request_queue_full', 'request_unavailable']) {
      const { send } = createFakeApp({ refusal: { code, message: 'Later.', retryAfterMs } })
      const response = await send(`/api/sessions/${testSession}/runs`, { json: { task: 'x' } })
      expect(response.headers.get('retry-after')).toBe(seconds)
    }
  })

  it('an error that lost its class on the way keeps its code and its wait', async () => {
    const fault = Object.assign(new Error('Slow down.'), {
      code: 'model_rate_limited',
      retryAfterMs: 1_200,
    })
    const response = await createFakeApp({ fault }).send(`/api/sessions/${testSession}`)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '2'])
  })
})

it('the key of another principal is not in any answer', async () => {
  const response = await createFakeApp().send('/nowhere')
  expect(await response.text()).not.toContain(testKey)
})
