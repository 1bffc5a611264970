import { describe, expect, it } from 'vitest'
import { createFakeApp } from '../../fakes/http-deps.ts'

const origin = 'https://chat.example'

describe('a page in a browser', () => {
  it.each(['/v1/chat/completions', '/v1/responses', '/v1/models', '/api/sessions/ses_1/runs'])(
    'asks before it sends a key to %s, and may',
    async (path) => {
      const headers = {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      }
      const response = await createFakeApp().app.request(path, { method: 'OPTIONS', headers })
      expect(response.status).toBe(204)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('access-control-allow-methods')).toContain('POST')
      expect(response.headers.get('access-control-allow-headers')).toMatch(/authorization/i)
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    },
  )

  it('reads answers and errors alike, and the headers that say whose they are', async () => {
    const { app, send } = createFakeApp()
    const json = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
    const answer = await send('/v1/chat/completions', { json, headers: { origin } })
    const refused = await app.request('/v1/models', { headers: { origin } })
    const refusedApi = await app.request('/api/sessions', { headers: { origin } })
    expect([answer.status, refused.status, refusedApi.status]).toEqual([200, 401, 401])
    for (const response of [answer, refused, refusedApi]) {
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      const exposed = response.headers.get('access-control-expose-headers')
      expect(exposed).toContain('x-isola-session')
      expect(exposed).toContain('www-authenticate')
    }
  })

  it('I26: is not let in elsewhere', async () => {
    const headers = { origin, 'access-control-request-method': 'POST' }
    const { app } = createFakeApp()
    for (const path of ['/api/operator/keys', '/oauth/token', '/healthz']) {
      const response = await app.request(path, { method: 'OPTIONS', headers })
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('T17: a page that speaks to /mcp', () => {
  const wanted = 'authorization,content-type,mcp-protocol-version'
  const ask = (from: string, url = 'http://localhost:8787/mcp') => {
    const asking = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': wanted,
    }
    return createFakeApp().app.request(url, {
      method: 'OPTIONS',
      headers: { origin: from, ...asking },
    })
  }

  it.each(['http://localhost:6274', 'http://127.0.0.1:3000'])(
    'asks from %s before it sends a key, and may',
    async (from) => {
      const response = await ask(from)
      expect(response.status).toBe(204)
      expect(response.headers.get('access-control-allow-origin')).toBe(from)
      expect(response.headers.get('access-control-allow-headers')).toBe(wanted)
      expect(response.headers.get('vary')).toMatch(/origin/i)
    },
  )

  it('reads where to sign in, and answers', async () => {
    const from = 'http://localhost:6274'
    const { app, send } = createFakeApp()
    const headers = { origin: from, host: 'localhost:8787' }
    const url = 'http://localhost:8787/mcp'
    const refused = await app.request(url, { method: 'POST', headers })
    const json = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const accept = 'application/json, text/event-stream'
    const answered = await send(url, { json, headers: { ...headers, accept } })
    expect([refused.status, answered.status]).toEqual([401, 200])
    for (const response of [refused, answered]) {
      expect(response.headers.get('access-control-allow-origin')).toBe(from)
      expect(response.headers.get('access-control-expose-headers')).toContain('www-authenticate')
    }
  })

  it.each(['https://evil.example', 'https://localhost.evil.example', 'null', 'file://'])(
    'may not from %s',
    async (from) => {
      expect((await ask(from)).headers.get('access-control-allow-origin')).toBeNull()
    },
  )
})
