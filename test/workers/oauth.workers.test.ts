import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import worker from '../../src/index.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import {
  at,
  authorizeUrl,
  bearer,
  callback,
  createBrowser,
  form,
  handleIn,
  issuer,
  refresh,
  register,
  returned,
  signIn,
  tokens,
  verifier,
} from '../fakes/oauth-client.ts'
import { sha256 } from '../fakes/kernel.ts'
import { installUpstream } from '../fakes/upstream.ts'

const operatorKey = 'isk_test_operator_key'
let count = 0
const addKey = (role = 'user', principal = `${role}-${(count += 1)}`): Promise<Answer> =>
  callJson('/api/operator/keys', { json: { principal, role } })
const statusOf = async (token: string, path = '/v1/models') =>
  (await at(path, bearer(token))).status
const recordsOf = async (): Promise<Answer[]> =>
  (await callJson('/api/operator/audit?session=deployment&limit=500')).records
const grantsOf = async (principal: string): Promise<Answer[]> =>
  (await callJson(`/api/operator/grants?principal=${principal}`)).grants

const principalObject = (principal: string) =>
  (env.PRINCIPAL as unknown as DurableObjectNamespace).getByName(
    sha256(`9:principal${principal.length}:${principal}`),
  )

describe('an OAuth sign-in with a key', () => {
  it('goes from registration to a token that opens /v1, is renewed and given back', async () => {
    const { key, principal, id } = await addKey()
    const first = await signIn(key)
    expect(first).toMatchObject({ token_type: 'bearer', scope: 'agents', expires_in: 3_600 })
    expect(await statusOf(first.access_token)).toBe(200)

    const renewed: Answer = await (await refresh(first.client, first.refresh_token)).json()
    expect(await statusOf(renewed.access_token)).toBe(200)
    expect(renewed.refresh_token).not.toBe(first.refresh_token)

    const gone = await tokens({ token: renewed.refresh_token, client_id: first.client })
    expect(gone.status).toBe(200)
    expect(await statusOf(renewed.access_token)).toBe(401)
    expect((await refresh(first.client, renewed.refresh_token)).status).toBe(400)

    expect(await grantsOf(principal)).toMatchObject([{ state: 'revoked', signedInWith: id }])
    const types = (await recordsOf())
      .filter(({ data }) => JSON.stringify(data).includes(first.client) || data.reason === 'client')
      .map(({ type }) => type)
    expect(types).toEqual(['oauth_client_registered', 'oauth_granted', 'oauth_revoked'])
  })
})

describe('a registration', () => {
  // Before the many that follow: only 30 a minute are on the record.
  it('T27: of a name without end the record has the beginning', async () => {
    const { client_id: client } = await register({ client_name: 'x'.repeat(5_000) })
    const browser = createBrowser()
    const { key } = await addKey()
    await browser.decide(await authorizeUrl(client), { key, decision: 'key' })
    const about = (await recordsOf()).filter(({ data }) => data.client === client)
    expect(about.map(({ type }) => type)).toEqual(['oauth_client_registered', 'oauth_granted'])
    for (const { data } of about) expect(data.clientName).toHaveLength(200)
  })
})

describe('a token', () => {
  it('P18: for /mcp lists the tools of the deployment to an MCP client', async () => {
    const { key } = await addKey()
    // Older clients name no resource: theirs is /mcp.
    const { access_token: token, resource } = await signIn(key, { resource: undefined })
    expect(resource).toBe(`${issuer}/mcp`)
    const response = await at('/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    })
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('"orchestrator"'),
    ])
  })

  it('T17: is for one part of the deployment: /v1, /mcp or /api, and refused at the others', async () => {
    const { key } = await addKey('operator')
    const paths = { '/v1': '/v1/models', '/mcp': '/mcp', '/api': '/api/sessions' }
    for (const [own, path] of Object.entries(paths)) {
      const scope = 'agents'
      const { access_token: token } = await signIn(key, { resource: issuer + own, scope })
      for (const [other, at] of Object.entries(paths))
        expect((await statusOf(token, at)) === 401, `${own} at ${other}`).toBe(other !== own)
      expect(await statusOf(token, path)).not.toBe(403)
    }
  })

  it('T17: of one address of this deployment opens nothing at another, and is renewed at its own only', async () => {
    const other = 'http://127.0.0.1:8787'
    const { client, access_token: token, refresh_token: again } = await signIn((await addKey()).key)
    expect(await statusOf(token)).toBe(200)
    expect(await statusOf(token, `${other}/v1/models`)).toBe(401)
    const fields = { grant_type: 'refresh_token', client_id: client, refresh_token: again }
    for (const resource of [`${other}/v1`, `${issuer}/v1`]) {
      const refused = await at(`${other}/oauth/token`, form({ ...fields, resource }))
      expect(refused.status, resource).toBe(400)
    }
    expect((await refresh(client, again)).status).toBe(200)
  })

  it('T1: ends with the key it was made with, and so does its refresh token', async () => {
    const { key, id } = await addKey()
    const { access_token: token, refresh_token: again, client } = await signIn(key)
    expect(await statusOf(token)).toBe(200)
    await callJson(`/api/operator/keys/${id}/revoke`, { json: {} })
    expect(await statusOf(token)).toBe(401)
    const refused = await refresh(client, again)
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  })

  it('T1: ends with its grant, which an operator sees and revokes', async () => {
    const { key, principal } = await addKey()
    const { access_token: token, refresh_token: again, client } = await signIn(key)
    const [grant] = await grantsOf(principal)
    expect(grant).toMatchObject({ state: 'active', client, scopes: ['agents'], principal })
    const revoke = () => callJson(`/api/operator/grants/${grant.id}/revoke`, { json: {} })
    expect(await revoke()).toMatchObject({ state: 'revoked' })
    expect(await statusOf(token)).toBe(401)
    expect((await refresh(client, again)).status).toBe(400)
    await revoke()
    const events = (await recordsOf()).filter(
      ({ type, data }) => type === 'oauth_revoked' && data.grant === grant.id,
    )
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ principal: 'operator', data: { owner: principal } })
  })

  it('G12: that merely ran out ends nothing that was begun with it, and its grant does when it is revoked', async () => {
    const upstream = installUpstream(() => ({ wait: new Promise(() => {}) }))
    const { key, principal } = await addKey()
    const { access_token: token } = await signIn(key)
    const chat = { model: 'orchestrator', background: true, input: 'Go on for long.' }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify(chat)
    const { id }: Answer = await (
      await at('/v1/responses', { method: 'POST', headers, body })
    ).json()
    expect(id).toMatch(/^resp_/)
    const statusNow = async () =>
      (await callJson(`/v1/responses/${id}`, { headers: { authorization: `Bearer ${key}` } }))
        .status
    await vi.waitFor(() => expect(upstream.requests).toHaveLength(1))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_601_000 })
    expect(await statusOf(token)).toBe(401)
    expect(await runDurableObjectAlarm(principalObject(principal))).toBe(true)
    expect(await statusNow()).toBe('in_progress')
    vi.useRealTimers()
    const [grant] = await grantsOf(principal)
    await callJson(`/api/operator/grants/${grant.id}/revoke`, { json: {} })
    await vi.waitFor(async () => expect(await statusNow()).toBe('cancelled'))
    upstream.restore()
  })

  it('F16: is refused by the table while KV still has it', async () => {
    const { key, principal } = await addKey()
    const { access_token: token } = await signIn(key)
    const [grant] = await grantsOf(principal)
    vi.spyOn(env.OAUTH_KV, 'delete').mockResolvedValue()
    await callJson(`/api/operator/grants/${grant.id}/revoke`, { json: {} })
    vi.restoreAllMocks()
    const { keys } = await env.OAUTH_KV.list({ prefix: `token:${principal}:` })
    expect(keys).toHaveLength(1)
    expect(await statusOf(token)).toBe(401)
  })

  it('F16: that its client gave back ends its grant also while KV still has it', async () => {
    const { key, principal } = await addKey()
    const { access_token: token, refresh_token: again, client } = await signIn(key)
    vi.spyOn(env.OAUTH_KV, 'delete').mockResolvedValue()
    expect((await tokens({ token: again, client_id: client })).status).toBe(200)
    vi.restoreAllMocks()
    expect(await statusOf(token)).toBe(401)
    expect(await grantsOf(principal)).toMatchObject([{ state: 'revoked' }])
  })

  it('T16: to renew with that is older than the one before ends its grant, on record', async () => {
    const { key, principal } = await addKey()
    const { refresh_token: first, client } = await signIn(key)
    const renew = async (token: string): Promise<Answer> => (await refresh(client, token)).json()
    const second = await renew(first)
    // An answer may get lost: until the new one was used, the one before is good.
    const { refresh_token: third } = await renew(first)
    const { refresh_token: fourth, access_token: token } = await renew(third)
    const [user, grant] = fourth.split(':')
    const { client_id: other } = await register()
    for (const [who, shown] of [
      [client, `${user}:${grant}:made-up`],
      [client, second.refresh_token],
      [other, first],
    ] as const)
      expect((await refresh(who, shown)).status).toBe(400)
    expect(await statusOf(token)).toBe(200)
    expect(await renew(first)).toMatchObject({ error: 'invalid_grant' })
    expect(await statusOf(token)).toBe(401)
    expect((await refresh(client, fourth)).status).toBe(400)
    const [ended] = await grantsOf(principal)
    expect(ended).toMatchObject({ state: 'revoked' })
    const events = (await recordsOf()).filter(({ data }) => data.reason === 'refresh_replayed')
    expect(events).toMatchObject([{ type: 'oauth_revoked', data: { grant: ended.id } }])
  })

  it('may less than its principal, and never more', async () => {
    const { key } = await addKey('operator')
    const resource = `${issuer}/api`
    const { access_token: token } = await signIn(key, { resource, scope: 'agents audit:read' })
    expect(await statusOf(token, '/api/sessions')).toBe(200)
    expect(await statusOf(token, '/api/operator/audit')).toBe(200)
    const refused = await at('/api/operator/keys', bearer(token))
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer error="insufficient_scope", resource_metadata="${issuer}/.well-known/oauth-protected-resource/api", scope="operator agents audit:read"`,
    ])
    const full = await signIn(key, { resource, scope: 'operator' })
    expect(await statusOf(full.access_token, '/api/operator/keys')).toBe(200)
  })

  it('P21: that may only add plugins enables none, even an operator’s', async () => {
    const { key } = await addKey('operator')
    const more = { resource: `${issuer}/api`, scope: 'plugins:install' }
    const { access_token: token } = await signIn(key, more)
    expect(await statusOf(token, '/api/operator/plugins')).toBe(200)
    const { url, method } = { url: '/api/operator/plugins/x/enable', method: 'POST' }
    expect((await at(url, { ...bearer(token), method })).status).toBe(403)
    expect(await statusOf(token, '/api/sessions')).toBe(403)
  })

  it('T1: loses what its principal lost, without another sign-in', async () => {
    const { key, principal } = await addKey('auditor')
    const resource = `${issuer}/api`
    const { access_token: token, scope } = await signIn(key, {
      resource,
      scope: 'agents audit:read operator',
    })
    expect(scope).toBe('audit:read')
    expect(await statusOf(token, '/api/operator/audit')).toBe(200)
    await callJson(`/api/operator/principals/${principal}`, { json: { role: 'user' } })
    expect(await statusOf(token, '/api/operator/audit')).toBe(403)
    expect(await statusOf(token, '/api/sessions')).toBe(403)
  })

  it('T17: in the address is none', async () => {
    const { key } = await addKey()
    const { access_token: token } = await signIn(key)
    expect((await at(`/v1/models?access_token=${token}`)).status).toBe(401)
  })

  it('is refused alike whether it was made up, is of no algorithm or was cut, and told where to get one', async () => {
    const { key } = await addKey()
    const { access_token: token } = await signIn(key)
    const none = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"operator"}')}.`
    const wrong = [none, 'a:b:c', `${token}x`, token.slice(0, -1), `operator:${token}`, '::', ':::']
    const bodies = new Set<string>()
    for (const one of wrong) {
      const response = await at('/v1/models', bearer(one))
      expect([response.status, response.headers.get('www-authenticate')]).toEqual([
        401,
        `Bearer error="invalid_token", resource_metadata="${issuer}/.well-known/oauth-protected-resource/v1", scope="agents"`,
      ])
      bodies.add((await response.text()).replace(/req_\w+/g, ''))
    }
    expect(bodies.size).toBe(1)
    const bare = await at('/mcp')
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp", scope="agents"`,
    ])
  })

  it('ends after an hour', async () => {
    const { key } = await addKey()
    const { access_token: token } = await signIn(key)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_601_000 })
    const later = await statusOf(token)
    vi.useRealTimers()
    expect(later).toBe(401)
  })
})

describe('a code', () => {
  it('is good once: the second use ends what the first one gave', async () => {
    const { key, principal } = await addKey()
    const { access_token: token, code, client } = await signIn(key)
    const again = await redeem(client, code)
    expect([again.status, await again.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    expect(await statusOf(token)).toBe(401)
    expect(await grantsOf(principal)).toMatchObject([{ state: 'revoked' }])
  })

  it('F16: ends what it gave at the second use also while KV still has the grant', async () => {
    const { key, principal } = await addKey()
    const { access_token: token, code, client } = await signIn(key)
    vi.spyOn(env.OAUTH_KV, 'delete').mockResolvedValue()
    expect((await redeem(client, code)).status).toBe(400)
    vi.restoreAllMocks()
    expect(await statusOf(token)).toBe(401)
    expect(await grantsOf(principal)).toMatchObject([{ state: 'revoked' }])
  })

  it('T16: or a token that was seen by another client ends nothing for its owner', async () => {
    const { key, principal } = await addKey()
    const { access_token: token, refresh_token: again, code, client } = await signIn(key)
    const { client_id: other } = await register()
    const madeUp = (secret: string) => secret.replace(/^[^:]*/, 'somebody')
    const [user, grant] = code.split(':')
    for (const fields of [
      { token: again },
      { token: madeUp(again) },
      { token: madeUp(again), client_id: other },
      { token: madeUp(again), client_id: client },
      { token: again, client_id: other },
      { token: `${user}:${grant}:expired`, client_id: client },
      { grant_type: 'authorization_code', code },
      { grant_type: 'authorization_code', code: madeUp(code) },
      { grant_type: 'authorization_code', code: madeUp(code), client_id: other },
      { grant_type: 'authorization_code', code: madeUp(code), client_id: client },
      { grant_type: 'authorization_code', code, client_id: other },
    ])
      await tokens(fields)
    expect(await statusOf(token)).toBe(200)
    expect(await grantsOf(principal)).toMatchObject([{ state: 'active' }])
  })

  it('F16: is good once also while KV does not know of the first use', async () => {
    const { key } = await addKey()
    const { client_id: client } = await register()
    const back = await createBrowser().decide(await authorizeUrl(client), { key, decision: 'key' })
    const code = returned(back).get('code')!
    const [user, grant] = code.split(':')
    const name = `grant:${user}:${grant}`
    const { value, metadata } = await env.OAUTH_KV.getWithMetadata(name)
    expect((await redeem(client, code)).status).toBe(200)
    await env.OAUTH_KV.put(name, value!, { metadata })
    expect((await redeem(client, code)).status).toBe(400)
  })

  it('needs its verifier, its client and its address', async () => {
    const { key } = await addKey()
    const { client_id: client } = await register()
    const { client_id: other } = await register()
    const back = await createBrowser().decide(await authorizeUrl(client), { key, decision: 'key' })
    const code = returned(back).get('code')!
    for (const more of [
      { code_verifier: 'another-verifier-that-is-long-enough-to-be-one-012345' },
      { code_verifier: '' },
      { client_id: other },
      { redirect_uri: 'http://127.0.0.1:1/callback' },
      { resource: `${issuer}/mcp` },
    ])
      expect((await redeem(client, code, more)).status, JSON.stringify(more)).toBe(400)
    expect((await redeem(client, code)).status).toBe(200)
  })
})

describe('an authorization request', () => {
  it('is refused on the page, and leads nowhere, for an address or client that is not known', async () => {
    const { client_id: client } = await register()
    for (const more of [
      { redirect_uri: 'https://attacker.example/callback' },
      { redirect_uri: `${callback}/../evil` },
      { redirect_uri: 'javascript:alert(1)' },
      { redirect_uri: 'data:text/html,x' },
      { redirect_uri: undefined },
      { client_id: 'nobody' },
      { client_id: undefined },
    ]) {
      const response = await at(await authorizeUrl(client, more))
      expect([response.status, response.headers.get('location')]).toEqual([400, null])
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    }
  })

  it('goes back to the client with an error, the state and the issuer when the rest is wrong', async () => {
    const { client_id: client } = await register()
    for (const [more, error] of [
      [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge: verifier, code_challenge_method: 'plain' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
      [{ resource: `${issuer}/api/operator` }, 'invalid_target'],
    ] as const) {
      const response = await at(await authorizeUrl(client, more))
      const back = returned(response)
      expect([response.status, back.get('error'), back.get('code')]).toEqual([302, error, null])
      expect([back.get('state'), back.get('iss')]).toEqual(['the-state', issuer])
    }
  })

  it('needs PKCE of a client with a secret too', async () => {
    const { client_id: client } = await register({
      token_endpoint_auth_method: 'client_secret_post',
    })
    const without = { code_challenge: undefined, code_challenge_method: undefined }
    const back = returned(await at(await authorizeUrl(client, without)))
    expect(back.get('error')).toBe('invalid_request')
  })

  it('T28: no client registers with an address that is a program', async () => {
    for (const uri of [
      'javascript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      'http://elsewhere.example/cb',
    ])
      expect((await register({ redirect_uris: [uri] })).status, uri).toBe(400)
  })

  it('is answered only at a host that is ours', async () => {
    for (const path of [
      '/authorize',
      '/.well-known/oauth-authorization-server',
      '/oauth/token',
      '/.well-known/oauth-protected-resource/mcp',
    ])
      for (const host of [
        'http://isola.test',
        'https://evil.example',
        'https://evil.workers.dev.example',
      ])
        expect((await at(host + path)).status, host + path).toBeGreaterThanOrEqual(404)
  })
})

describe('the consent page', () => {
  it('T28: names client, address, part and scopes, and is in no frame and no cache', async () => {
    const { client_id: client } = await register()
    const response = await at(await authorizeUrl(client, { scope: 'agents operator nonsense' }))
    const page = await response.text()
    for (const text of [
      'A test client',
      '127.0.0.1:33418',
      `${issuer}/v1`,
      'value="agents"',
      'value="operator"',
    ])
      expect(page).toContain(text)
    expect(page).not.toContain('nonsense')
    expect(page).not.toMatch(/<script|https?:\/\/(?!localhost)|\son\w+=/)
    const policy = response.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    const { headers } = response
    expect([headers.get('x-frame-options'), headers.get('cache-control')]).toEqual([
      'DENY',
      'no-store',
    ])
    expect(headers.get('set-cookie')).toMatch(/^__Host-.*; Secure; HttpOnly; SameSite=Lax/)
  })

  it('T28: has the least ticked at first, and after a wrong key the choice of the person', async () => {
    const { client_id: client } = await register()
    const browser = createBrowser()
    const url = await authorizeUrl(client, { scope: 'agents audit:read operator' })
    const ticked = (page: string) =>
      [...page.matchAll(/name="scope" value="([^"]+)" checked/g)].map(([, scope]) => scope)
    expect(ticked(await (await browser.go(url)).text())).toEqual(['agents'])
    const chosen = { key: 'isk_wrong', decision: 'key', scope: ['agents', 'audit:read'] }
    const again = await browser.decide(url, chosen)
    expect(ticked(await again.text())).toEqual(['agents', 'audit:read'])
  })

  it('T28: tells a wrong key, counts it, and gives nothing for it', async () => {
    const { client_id: client } = await register()
    const browser = createBrowser()
    const url = await authorizeUrl(client)
    const headers = { 'cf-connecting-ip': '203.0.113.77' }
    const wrong = await browser.decide(url, { key: 'isk_wrong', decision: 'key' }, { headers })
    expect([wrong.status, await wrong.text()]).toEqual([401, expect.stringContaining('not valid')])
    const records = await recordsOf()
    expect(
      records.filter(
        ({ type, data }) => type === 'login_failed' && data.address === '203.0.113.77',
      ),
    ).toHaveLength(1)
    for (let index = 0; index < 30; index += 1)
      await browser.decide(url, { key: 'isk_wrong', decision: 'key' }, { headers })
    const limited = await browser.decide(url, { key: 'isk_wrong', decision: 'key' }, { headers })
    expect([limited.status, await limited.text()]).toEqual([
      429,
      expect.stringContaining('Too many'),
    ])
  })

  it('takes no token for a key', async () => {
    const { key } = await addKey()
    const { access_token: token } = await signIn(key)
    const { client_id: client } = await register()
    const tried = await createBrowser().decide(await authorizeUrl(client), {
      key: token,
      decision: 'key',
    })
    expect(tried.status).toBe(401)
  })

  it('T28: is good once, in the browser that opened it, and from our page', async () => {
    const { key } = await addKey()
    const { client_id: client } = await register()
    const url = await authorizeUrl(client)
    const browser = createBrowser()
    const handle = handleIn(await (await browser.go(url)).text())
    const send = (init: RequestInit = {}, one = browser) =>
      one.go(url, { ...form({ handle, key, decision: 'key', scope: 'agents' }), ...init })
    const refused = async (response: Promise<Response>) => {
      const { status, headers } = await response
      return [status, headers.get('location')]
    }
    expect(await refused(send({ headers: { origin: 'https://evil.example' } }))).toEqual([
      403,
      null,
    ])
    expect(await refused(send({ headers: { 'sec-fetch-site': 'cross-site' } }))).toEqual([
      403,
      null,
    ])
    expect(await refused(send({ headers: { origin: 'null' } }))).toEqual([403, null])
    expect(await refused(send({}, createBrowser()))).toEqual([400, null])
    const jar = new Map(browser.jar)
    expect((await send()).status).toBe(303)
    for (const [name, value] of jar) browser.jar.set(name, value)
    expect(await refused(send())).toEqual([400, null])
    expect(await refused(browser.go(url, form({ handle, decision: 'deny' })))).toEqual([400, null])
  })

  it('F16: is good once also while KV still has it', async () => {
    const { key, principal } = await addKey()
    const { client_id: client } = await register()
    const url = await authorizeUrl(client)
    const browser = createBrowser()
    const handle = handleIn(await (await browser.go(url)).text())
    const jar = new Map(browser.jar)
    const send = () => browser.go(url, form({ handle, key, decision: 'key', scope: 'agents' }))
    vi.spyOn(env.OAUTH_KV, 'delete').mockResolvedValue()
    expect((await send()).status).toBe(303)
    for (const [name, value] of jar) browser.jar.set(name, value)
    expect((await send()).status).toBe(400)
    vi.restoreAllMocks()
    expect(await grantsOf(principal)).toHaveLength(1)
  })

  it('says no to the client when the user does, on record', async () => {
    const { client_id: client } = await register()
    for (const decision of ['deny', 'anything else']) {
      const back = returned(await createBrowser().decide(await authorizeUrl(client), { decision }))
      expect([back.get('error'), back.get('state'), back.get('iss'), back.get('code')]).toEqual([
        'access_denied',
        'the-state',
        issuer,
        null,
      ])
    }
    const refusals = (await recordsOf()).filter(
      ({ type, data }) => type === 'oauth_refused' && data.client === client,
    )
    expect(refusals.map(({ data }) => data.reason)).toEqual(['denied', 'denied'])
  })

  it('gives what was left ticked, of what was asked for', async () => {
    const { key } = await addKey('operator')
    const { client_id: client } = await register()
    const url = await authorizeUrl(client, { scope: 'agents audit:read' })
    const allow = async (scope: readonly string[]) =>
      returned(await createBrowser().decide(url, { key, decision: 'key', scope }))
    const given: Answer = await (
      await redeem(client, (await allow(['audit:read', 'operator'])).get('code')!)
    ).json()
    expect(given.scope).toBe('audit:read')
    expect((await allow([])).get('error')).toBe('access_denied')
  })
})

describe('the metadata', () => {
  it('T16: names the issuer, the endpoints and PKCE, alike in both documents', async () => {
    const server: Answer = await (await at('/.well-known/oauth-authorization-server')).json()
    expect(server).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      registration_endpoint: `${issuer}/oauth/register`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      scopes_supported: [
        'agents',
        'approve',
        'audit:read',
        'plugins:install',
        'operator',
        'offline_access',
      ],
    })
    for (const path of ['/mcp', '/v1', '/api'])
      expect(await (await at(`/.well-known/oauth-protected-resource${path}`)).json()).toMatchObject(
        {
          resource: issuer + path,
          authorization_servers: [issuer],
          bearer_methods_supported: ['header'],
        },
      )
    const least = { '/mcp': ['agents'], '/v1': ['agents'], '/api': undefined }
    for (const [path, scopes] of Object.entries(least)) {
      const said = await at(`/.well-known/oauth-protected-resource${path}`, {
        headers: { origin: 'https://page.example' },
      })
      expect(said.headers.get('access-control-allow-origin')).toBe('*')
      expect(said.headers.get('cache-control')).toBe('no-store')
      const { scopes_supported: supported } = await said.json<{ scopes_supported?: string[] }>()
      expect(supported, path).toEqual(scopes)
      const preflight = await at(`/.well-known/oauth-protected-resource${path}`, {
        method: 'OPTIONS',
        headers: {
          origin: 'https://page.example',
          'access-control-request-headers': 'mcp-protocol-version',
        },
      })
      expect([
        preflight.status,
        preflight.headers.get('access-control-allow-origin'),
        preflight.headers.get('access-control-allow-headers'),
      ]).toEqual([204, '*', 'authorization, *'])
    }
    const asked = await at('/oauth/token', {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example' },
    })
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://page.example',
    ])
  })

  it('no secret of a sign-in is on the record', async () => {
    const { key } = await addKey()
    const { access_token: token, refresh_token: again, code } = await signIn(key)
    const record = JSON.stringify(await recordsOf())
    for (const secret of [key, token, again, code]) {
      expect(record).not.toContain(secret)
      expect(record).not.toContain(secret.split(':').at(-1))
    }
  })
})

describe('the operator key', () => {
  it('signs in like any other', async () => {
    const more = { resource: `${issuer}/api`, scope: 'operator' }
    const { access_token: token } = await signIn(operatorKey, more)
    expect(await statusOf(token, '/api/operator/keys')).toBe(200)
    expect(await grantsOf('operator')).toMatchObject([{ signedInWith: 'operator' }])
  })
})

const redeem = (client: string, code: string, more: Readonly<Record<string, string>> = {}) =>
  tokens({
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: callback,
    code_verifier: verifier,
    ...more,
  })

describe('a client that is named by a document', () => {
  const document = 'https://app.example/oauth/client.json'
  const serve = (more: object = {}) =>
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
      const { url } = new Request(input)
      if (url !== document) throw new Error(`unexpected request to ${url}`)
      return Response.json({
        client_id: document,
        client_name: 'Named',
        redirect_uris: [callback],
        token_endpoint_auth_method: 'none',
        ...more,
      })
    })

  it('signs in without a registration, and the page names its host', async () => {
    const { key } = await addKey()
    const spy = serve()
    const url = await authorizeUrl(document)
    const browser = createBrowser()
    expect(await (await browser.go(url)).text()).toContain('app.example')
    const back = returned(await browser.decide(url, { key, decision: 'key' }))
    const given: Answer = await (await redeem(document, back.get('code')!)).json()
    spy.mockRestore()
    expect(await statusOf(given.access_token)).toBe(200)
  })

  it('T16: is refused on the page if the document is of another, leads to a program or cannot be read', async () => {
    for (const more of [
      { client_id: 'https://other.example/client.json' },
      { redirect_uris: ['javascript:alert(1)'] },
      { client_name: 'x'.repeat(6_000) },
    ]) {
      const spy = serve(more)
      const response = await at(await authorizeUrl(document))
      spy.mockRestore()
      expect([response.status, response.headers.get('location')]).toEqual([400, null])
    }
    const inside = ['http://app.example/c.json', 'https://app.example', 'https://u:p@app.example/c']
    for (const client of inside)
      expect((await at(await authorizeUrl(client))).status, client).toBe(400)
  })
})

describe('a stranger', () => {
  it('T27: registers ten clients a minute from one address, and opens thirty pages', async () => {
    const headers = { 'cf-connecting-ip': '203.0.113.99', 'content-type': 'application/json' }
    const body = JSON.stringify({ client_name: 'x', redirect_uris: [callback] })
    const one = () => at('/oauth/register', { method: 'POST', headers, body })
    for (let index = 0; index < 10; index += 1) expect((await one()).status).toBe(201)
    const refused = await one()
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true])
    const { client_id: client } = await register()
    const url = await authorizeUrl(client)
    for (let index = 0; index < 30; index += 1)
      expect((await at(url, { headers })).status).toBe(200)
    expect((await at(url, { headers })).status).toBe(429)
  })

  it('T27: sends no more than sixty forms a minute, whatever they say, and no page is kept for more', async () => {
    const { client_id: client } = await register()
    const url = await authorizeUrl(client)
    const headers = { 'cf-connecting-ip': '203.0.113.98' }
    const send = (decision: string) =>
      at(url, { ...form({ decision, handle: 'x', key: 'isk_wrong' }), headers })
    const sent = await Promise.all(Array.from({ length: 60 }, () => send('deny')))
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([400]))
    const put = vi.spyOn(env.OAUTH_KV, 'put')
    expect((await send('key')).status).toBe(429)
    expect(put).not.toHaveBeenCalled()
    put.mockRestore()
  })

  it('T27: has no more than sixty documents fetched a minute for tokens, however it names them', async () => {
    const spy = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('away'))
    const headers = { 'cf-connecting-ip': '203.0.113.97' }
    const ask = (fields: Record<string, string>, more: Record<string, string> = {}) =>
      at('/oauth/token', {
        ...form({ grant_type: 'refresh_token', refresh_token: 'a:b:c', ...fields }),
        headers: { ...headers, ...more },
      })
    const document = (index: number) => `https://app.example/${index}.json`
    const asked = await Promise.all(
      Array.from({ length: 60 }, (_, index) => ask({ client_id: document(index) })),
    )
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([401]))
    const fetched = spy.mock.calls.length
    const basic = `Basic ${btoa(`${encodeURIComponent(document(61))}:x`)}`
    const assertion = { client_assertion: 'x.y.z', client_assertion_type: 'x' }
    const refused = [
      await ask({ client_id: document(60) }),
      await ask({}, { authorization: basic }),
      await ask(assertion),
    ]
    expect(refused.map(({ status }) => status)).toEqual([429, 429, 429])
    expect([fetched > 0, spy.mock.calls.length]).toEqual([true, fetched])
    spy.mockRestore()
    // For a registered client no document is fetched.
    expect((await ask({ client_id: 'registered' })).status).toBe(401)
  })

  it('T26: sends no more than 64 KiB, and nothing but a form', async () => {
    const body = 'x'.repeat(65 * 1_024)
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const path of ['/oauth/token', '/oauth/register', '/authorize'])
      expect((await at(path, { method: 'POST', headers: type, body })).status, path).toBe(413)
    expect((await at('/authorize', { method: 'POST', body: '{}' })).status).toBe(415)
  })
})

describe('the daily job', () => {
  it('forgets grants a month after their end, and entries of KV without a grant', async () => {
    const { key, principal } = await addKey()
    const { client } = await signIn(key)
    await env.OAUTH_KV.delete(`client:${client}`)
    expect(await grantsOf(principal)).toHaveLength(1)
    const job = () => worker.scheduled()
    await job()
    expect((await env.OAUTH_KV.list({ prefix: `grant:${principal}:` })).keys).toEqual([])
    expect(await grantsOf(principal)).toHaveLength(1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61 * 86_400_000 })
    await job()
    vi.useRealTimers()
    expect(await grantsOf(principal)).toEqual([])
  })
})
