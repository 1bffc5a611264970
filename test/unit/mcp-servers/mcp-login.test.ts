import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import type { McpFinished } from '../../../src/runtime/catalog/types/part-kind.ts'
import { finishMcpLogin } from '../../../src/features/mcp-servers/routes/callback-routes.ts'
import { createFakeApp, testKey } from '../../fakes/http-deps.ts'

it.each([
  ['request_invalid', 0],
  ['request_not_found', 0],
  ['request_unavailable', 1],
] as const)('a sign-in that ends with %s is told %s times as a fault', async (code, count) => {
  const faults: unknown[] = []
  const finishLogin = async () => {
    throw new IsolaError(code, 'no')
  }
  const deps = { mcp: { finishLogin }, onFault: (error: unknown) => void faults.push(error) }
  const request = { raw: { url: 'https://isola.example/mcp/callback?state=a.b' }, requestId: 'req' }
  // As much of both as this route takes.
  const response = await finishMcpLogin(deps as never, request as never)
  expect(response.status).toBe(400)
  expect(faults).toHaveLength(count)
})

describe('T28: the page that a browser comes back to', () => {
  const code = 'login_0123456789ABCDEFGHIJKL'
  const cases: readonly (readonly [McpFinished, number, string])[] = [
    [{ server: 'srv', state: 'signed_in' }, 200, 'Signed in.'],
    [{ server: 'srv', state: 'code', code }, 200, `isola mcp login srv --mine --code ${code}`],
    [{ server: 'srv', state: 'denied' }, 400, 'was denied'],
    [{ server: 'srv', state: 'failed' }, 400, 'did not work'],
  ]
  it.each(cases)('of %j has the status %s and says %s', async (finished, status, text) => {
    const deps = { mcp: { finishLogin: async () => finished } }
    const query = '?state=a.b&code=%3Cscript%3Ealert(1)%3C/script%3E'
    const request = { raw: { url: `https://isola.example/mcp/callback${query}` } }
    // As much of both as this route takes.
    const response = await finishMcpLogin(deps as never, request as never)
    expect(response.status).toBe(status)
    const page = await response.text()
    expect(page).toContain(text)
    expect(page).not.toMatch(/script|alert/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

describe("T1: one's own sign-in at an MCP server", () => {
  const asked: (readonly [string, string, string])[] = []
  const note = (what: string) => async (id: string, by: { readonly principal: string }) => {
    asked.push([what, id, by.principal])
    return { state: 'signed_in' } as const
  }
  const own = {
    show: note('show'),
    begin: note('begin'),
    finish: async (id: string, by: { readonly principal: string }) => void note('finish')(id, by),
    end: async (id: string, by: { readonly principal: string }) => void note('end')(id, by),
  }
  const routes: readonly (readonly [string, string, object | undefined])[] = [
    ['GET', '/api/mcp/srv/login', undefined],
    ['POST', '/api/mcp/srv/login', {}],
    ['DELETE', '/api/mcp/srv/login', undefined],
    ['POST', '/api/mcp/srv/login/finish', { code: 'login_0123456789ABCDEFGHIJKL' }],
  ]
  /** The app, for a principal that came with a key, or with a token of it. */
  function openApp(principal: object) {
    return createFakeApp({
      deps: {
        authenticate: async () => ({ id: 'ada', role: 'user', ...principal }) as never,
        // As much of it as these routes take.
        mcp: { own } as never,
      },
    }).app
  }
  const send = (app: ReturnType<typeof openApp>, [method, path, body]: (typeof routes)[number]) =>
    app.request(path, {
      method,
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })

  it.each(routes)('%s %s is for callers with a key, and no access token', async (...route) => {
    asked.length = 0
    const token = { scopes: ['agents', 'operator'], couldHave: ['agents', 'operator'] }
    const refused = await send(openApp({ grant: 'grant_1', token }), route)
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining('send a key'),
    ])
    expect(asked).toEqual([])
    expect((await send(openApp({ key: 'key_1' }), route)).status).toBe(200)
    expect(asked).toMatchObject([[expect.any(String), 'srv', 'ada']])
  })

  it.each([{}, { code: 'abc' }, { code: 7 }, { code: 'login_0123456789ABCDEFGHIJKL', state: 'x' }])(
    'refuses to finish with %j, and names the field',
    async (body) => {
      const response = await send(openApp({}), ['POST', '/api/mcp/srv/login/finish', body])
      expect(response.status).toBe(400)
      expect(await response.text()).toMatch(/code|state/)
    },
  )
})
