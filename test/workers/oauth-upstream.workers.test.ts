import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { callJson, type Answer } from '../fakes/client.ts'
import {
  at,
  authorizeUrl,
  bearer,
  callback,
  createBrowser,
  form,
  issuer,
  refresh,
  register,
  returned,
  tokens,
  verifier,
} from '../fakes/oauth-client.ts'
import { installOidcProvider, oidcIssuer, type Signed } from '../fakes/oidc-provider.ts'

let provider: Awaited<ReturnType<typeof installOidcProvider>>
beforeEach(async () => (provider = await installOidcProvider()))
afterEach(() => provider.restore())

const recordsOf = async (): Promise<Answer[]> =>
  (await callJson('/api/operator/audit?session=deployment&limit=500')).records

/** As far as the other provider's page. */
async function leave(more: Readonly<Record<string, string | undefined>> = {}) {
  const { client_id: client } = await register()
  const browser = createBrowser()
  const away = await browser.decide(await authorizeUrl(client, more), { decision: 'upstream' })
  return { client, browser, away, location: away.headers.get('location') ?? '' }
}

/** All the way: what came back to the client, and why on record. */
async function comeBack(who: Signed = {}, change: (back: URL) => void = () => undefined) {
  const { client, browser, location } = await leave()
  const back = provider.signedIn(location, who)
  change(back)
  const response = await browser.go(back.href)
  const refused = (await recordsOf()).find(
    ({ type, data }) => type === 'oauth_refused' && data.client === client,
  )
  return { client, browser, back, response, reason: refused?.data.reason }
}

const redeem = async (client: string, code: string): Promise<Answer> => {
  const grant = {
    grant_type: 'authorization_code',
    redirect_uri: callback,
    code_verifier: verifier,
  }
  return (await tokens({ ...grant, client_id: client, code })).json()
}

describe('signing in with another provider', () => {
  it('sends the browser there after consent, with state, nonce and PKCE of its own', async () => {
    const { away, location } = await leave()
    expect(away.status).toBe(303)
    const asked = new URL(location)
    expect(asked.origin + asked.pathname).toBe(`${oidcIssuer}/authorize`)
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'isola',
      redirect_uri: `${issuer}/oauth/callback`,
      code_challenge_method: 'S256',
      scope: 'openid email',
    })
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(asked.searchParams.get(name)?.length, name).toBeGreaterThan(20)
    expect(location).not.toContain('the-state')
  })

  it('lets in each person on the list, by a checked e-mail or by subject, as the principal named there', async () => {
    for (const [who, principal, subject] of [
      [{}, 'ada', 'sub-ada'],
      [{ claims: { sub: 'sub-grace', email: undefined } }, 'grace', 'sub-grace'],
    ] as const) {
      const { client, response } = await comeBack(who)
      const back = returned(response)
      expect([back.get('state'), back.get('iss')]).toEqual(['the-state', issuer])
      const given = await redeem(client, back.get('code')!)
      expect(given.scope).toBe('agents')
      expect((await at('/v1/models', bearer(given.access_token))).status).toBe(200)
      const { grants } = await callJson(`/api/operator/grants?principal=${principal}`)
      expect(grants[0]).toMatchObject({ signedInWith: `oidc:${subject}`, state: 'active', client })
      expect((await refresh(client, given.refresh_token)).status).toBe(200)
    }
  })

  it.each([
    ['nobody on the list', { claims: { sub: 'x', email: 'eve@example.com' } }, 'unknown_person'],
    ['an e-mail nobody checked', { claims: { email_verified: false } }, 'unknown_person'],
    ['no algorithm', { header: { alg: 'none' } }, 'upstream_token_invalid'],
    ['a shared-secret algorithm', { header: { alg: 'HS256' } }, 'upstream_token_invalid'],
    ["somebody else's signature", { isForged: true }, 'upstream_token_invalid'],
    ['an unknown key', { header: { kid: 'k2' } }, 'upstream_token_invalid'],
    ['another issuer', { claims: { iss: 'https://evil.test' } }, 'upstream_token_invalid'],
    ['another audience', { claims: { aud: 'other' } }, 'upstream_token_invalid'],
    ['two audiences', { claims: { aud: ['isola', 'other'] } }, 'upstream_token_invalid'],
    ['another nonce', { claims: { nonce: 'n' } }, 'upstream_token_invalid'],
    ['no nonce', { claims: { nonce: undefined } }, 'upstream_token_invalid'],
    ['yesterday', { claims: { exp: 1 } }, 'upstream_token_invalid'],
    ['tomorrow', { claims: { iat: 9_999_999_999 } }, 'upstream_token_invalid'],
  ])('T16: refuses %s, on record', async (_name, who, expected) => {
    const { response, reason } = await comeBack(who)
    const back = returned(response)
    expect([back.get('error'), back.get('code'), reason]).toEqual(['access_denied', null, expected])
  })

  it.each([
    [
      'another issuer',
      (back: URL) => back.searchParams.set('iss', 'https://evil.test'),
      'upstream_issuer',
    ],
    ['no issuer', (back: URL) => back.searchParams.delete('iss'), 'upstream_issuer'],
    ['an error', (back: URL) => back.searchParams.set('error', 'access_denied'), 'upstream_denied'],
    ['no code', (back: URL) => back.searchParams.delete('code'), 'upstream_denied'],
    ['a made-up code', (back: URL) => back.searchParams.set('code', 'x'), 'upstream_failed'],
  ])('T16: refuses %s in the answer', async (_name, change, expected) => {
    const { response, reason } = await comeBack({}, change)
    expect([returned(response).get('error'), reason]).toEqual(['access_denied', expected])
  })

  it('takes a state once, in the browser it was made for, and no other', async () => {
    const { browser, location } = await leave()
    const back = provider.signedIn(location)
    const tampered = new URL(back)
    tampered.searchParams.set('state', `${back.searchParams.get('state')}x`)
    const jar = new Map(browser.jar)
    for (const [one, url] of [
      [createBrowser(), back],
      [browser, tampered],
    ] as const) {
      const { status, headers } = await one.go(url.href)
      expect([status, headers.get('location')]).toEqual([400, null])
    }
    expect(returned(await browser.go(back.href)).get('code')).not.toBeNull()
    for (const [name, value] of jar) browser.jar.set(name, value)
    expect((await browser.go(back.href)).status).toBe(400)
  })

  it('T27: asks the provider for no browser that has not seen our page', async () => {
    const { client_id: client } = await register()
    const fields = { decision: 'upstream', handle: 'made-up', scope: 'agents' }
    const { status } = await createBrowser().go(await authorizeUrl(client), form(fields))
    expect([status, provider.requests]).toEqual([400, []])
  })

  it('T16: asks no server that the provider names on another scheme, and believes no other issuer', async () => {
    for (const more of [
      { issuer: 'https://evil.test' },
      { authorization_endpoint: 'javascript:alert(1)' },
      { authorization_endpoint: 'http://elsewhere.test/authorize' },
    ]) {
      provider.says(more)
      const { away, location } = await leave()
      expect([away.status, location]).toEqual([502, ''])
      // The page is there again, for another try.
      expect(await away.text()).toContain('name="handle"')
    }
    provider.says({ token_endpoint: 'http://elsewhere.test/token' })
    expect((await comeBack()).reason).toBe('upstream_failed')
    expect(provider.requests.filter((url) => !url.startsWith(oidcIssuer))).toEqual([])
  })
})
