import { describe, expect, it } from 'vitest'
import { mayBeAsked } from '../../src/features/mcp-servers/guarded-fetch.ts'
import { createAuthWorld, here, type FakeAuth } from '../fakes/mcp-sign-in.ts'

const stateOf = (url: string) => new URL(url).searchParams.get('state') ?? ''
async function opened(world: ReturnType<typeof createAuthWorld>): Promise<string> {
  const begun = await world.begin()
  if (begun.state !== 'open') throw new Error('nobody has to sign in')
  return begun.url
}

describe('signing in at an authorization server', () => {
  it('ends with tokens that are kept sealed, learned by no log, and survive a restart on the way', async () => {
    const world = createAuthWorld()
    await expect(world.look()).rejects.toThrow()
    const page = new URL(await opened(world))
    expect(page.origin).toBe('https://auth.example.com')
    expect(page.searchParams.get('code_challenge_method')).toBe('S256')
    expect(page.searchParams.get('resource')).toBe('https://mcp.example.com/mcp')
    expect(page.searchParams.get('redirect_uri')).toBe(`${here}/mcp/callback`)
    world.sleep()
    await world.finish(`?code=c&state=${stateOf(page.href)}`)
    expect((await world.look()).items).toHaveLength(1)
    world.sleep()
    world.renew()
    expect((await world.look()).items).toHaveLength(1)
    const [token = ''] = world.tokens
    expect(world.learned).toContain(token)
    expect(JSON.stringify([...world.kept])).not.toContain(token)
  })

  it('T28: a state counts once, is not guessed, and is nothing when it is empty', async () => {
    const world = createAuthWorld()
    const state = stateOf(await opened(world))
    for (const query of ['', '?state=', '?code=c', '?code=c&state=srv.secret-0'])
      await expect(world.finish(query)).rejects.toMatchObject({ code: 'request_invalid' })
    await world.finish(`?code=c&state=${state}`)
    await expect(world.finish(`?code=c&state=${state}`)).rejects.toMatchObject({
      code: 'request_invalid',
    })
  })

  it('T16: a call in between registers no client, and does not replace a sign-in that is under way', async () => {
    const world = createAuthWorld()
    const state = stateOf(await opened(world))
    const before = world.registered.length
    await expect(world.look()).rejects.toThrow()
    expect(world.registered).toHaveLength(before)
    await world.finish(`?code=c&state=${state}`)
    expect(await world.isSignedIn()).toBe(true)
  })

  it('T16: the issuer that answers is the one that was asked', async () => {
    const world = createAuthWorld({
      metadata: { authorization_response_iss_parameter_supported: true },
    })
    const state = stateOf(await opened(world))
    await expect(
      world.finish(`?code=c&state=${state}&iss=https%3A%2F%2Fevil.example.com`),
    ).rejects.toThrow()
    expect(await world.isSignedIn()).toBe(false)
    expect(world.asked.filter((url) => url.endsWith('/token'))).toEqual([])
  })

  const evil = 'https://auth.evil-site.org'
  const refused: readonly (readonly [string, FakeAuth])[] = [
    ['metadata on another site', { challenge: `Bearer resource_metadata="${evil}/.well-known/x"` }],
    [
      'metadata on this network',
      { challenge: 'Bearer resource_metadata="http://169.254.169.254/x"' },
    ],
    [
      'an authorization server on another site',
      { resource: { authorization_servers: [evil] }, issuer: evil },
    ],
    ['a registration on another site', { metadata: { registration_endpoint: `${evil}/register` } }],
    ['a page that is a script', { metadata: { authorization_endpoint: 'javascript:alert(1)' } }],
    ['a page on another site', { metadata: { authorization_endpoint: `${evil}/authorize` } }],
    [
      'a page over http',
      { metadata: { authorization_endpoint: 'http://auth.example.com/authorize' } },
    ],
    ['the issuer of somebody else', { metadata: { issuer: 'https://bank.example.com' } }],
    ['the resource of somebody else', { resource: { resource: 'https://bank.example.com/' } }],
  ]
  it.each(refused)('T16: refuses %s', async (_what, fake) => {
    const world = createAuthWorld(fake)
    await expect(world.begin()).rejects.toThrow()
    expect([...world.hosts()].filter((host) => !host.endsWith('example.com'))).toEqual([])
    expect(world.hosts().has('bank.example.com')).toBe(false)
  })

  it('T16: a code is sent to no other site', async () => {
    const world = createAuthWorld({ metadata: { token_endpoint: `${evil}/token` } })
    const begun = await world.begin().catch(() => undefined)
    if (begun?.state === 'open')
      await expect(world.finish(`?code=c&state=${stateOf(begun.url)}`)).rejects.toThrow()
    expect(world.hosts().has('auth.evil-site.org')).toBe(false)
  })

  it('T28: a state counts once, also when two come back at the same time', async () => {
    const world = createAuthWorld()
    const query = `?code=c&state=${stateOf(await opened(world))}`
    const ends = await Promise.allSettled([world.finish(query), world.finish(query)])
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(world.asked.filter((url) => url.endsWith('/token'))).toHaveLength(1)
    expect(world.signedIn).toEqual([{ server: 'srv' }])
  })

  it('T16: a token without end is refused, and the refusal is on the record', async () => {
    const token = () => Response.json({ access_token: 'x'.repeat(4_097), token_type: 'Bearer' })
    const world = createAuthWorld({ token })
    await expect(world.finish(`?code=c&state=${stateOf(await opened(world))}`)).rejects.toThrow(
      '4096',
    )
    expect(world.signedIn).toEqual([{ server: 'srv', refused: 'tool_failed' }])
    expect(await world.isSignedIn()).toBe(false)
  })

  const secrets = new Map([['CLIENT', 'a-client-secret-by-hand']])
  const byHand = { clientId: 'mine', clientSecret: '${secret:CLIENT}' }
  it('T16: a client registered by hand is used at its own authorization server', async () => {
    for (const issuer of ['https://auth.example.com', 'https://auth.example.com/', undefined]) {
      const about = { ...byHand, ...(issuer && { issuer }) }
      const world = createAuthWorld({ about, secrets })
      await world.finish(`?code=c&state=${stateOf(await opened(world))}`)
      expect(await world.isSignedIn()).toBe(true)
      expect(world.learned).toContain('a-client-secret-by-hand')
      expect(world.registered).toEqual([])
    }
  })

  it('T16: and at no other, which the server names now', async () => {
    const about = { ...byHand, issuer: 'https://login.example.com' }
    const world = createAuthWorld({ about, secrets })
    await expect(world.begin()).rejects.toThrow()
    expect(world.registered).toEqual([])
    const first = createAuthWorld({ about: byHand, secrets })
    await first.finish(`?code=c&state=${stateOf(await opened(first))}`)
    first.move('https://other.example.com')
    first.tokens.clear()
    first.renew()
    await expect(first.begin()).rejects.toThrow()
    expect(first.asked.filter((url) => url.startsWith('https://other.example.com/token'))).toEqual(
      [],
    )
  })

  it('T16: credentials that are not right any more go, however their issuer is written', async () => {
    const world = createAuthWorld({ issuer: 'https://auth.example.com/' })
    const page = await opened(world)
    await world.finish(`?code=c&state=${stateOf(page)}`)
    const count = () =>
      [...world.kept.keys()].filter((key) => /tokens|client http/.test(key)).length
    expect(count()).toBe(2)
    const provider = await world.provider()
    await provider?.invalidateCredentials?.('all')
    expect(count()).toBe(0)
  })

  it('T16: each request around a call has a deadline of its own', async () => {
    const world = createAuthWorld()
    await opened(world)
    const around = world.limits.filter(([url]) => url !== world.server.url)
    expect(around.length).toBeGreaterThan(1)
    for (const [, hasLimit] of around) expect(hasLimit).toBe(true)
  })

  it('another site may be used where the operator named it', async () => {
    const issuer = 'https://login.other-site.org'
    const world = createAuthWorld({ issuer, about: { authHosts: ['login.other-site.org'] } })
    await world.finish(`?code=c&state=${stateOf(await opened(world))}`)
    expect(await world.isSignedIn()).toBe(true)
  })

  it('T16: a token of one address is not used for another', async () => {
    const world = createAuthWorld()
    await world.finish(`?code=c&state=${stateOf(await opened(world))}`)
    const keys = [...world.kept.keys()].filter((key) => key.includes('tokens'))
    for (const key of keys) expect(key).toContain('https://mcp.example.com/mcp')
  })
})

describe('T16: which hosts belong together', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['https://mcp.example.com', 'https://mcp.example.com', true],
    ['https://mcp.example.com', 'https://auth.example.com', true],
    ['https://mcp.example.com', 'https://example.com', true],
    ['https://example.com', 'https://auth.example.com', true],
    ['https://mcp.example.com', 'https://example.com.evil.org', false],
    ['https://mcp.example.com', 'https://notexample.com', false],
    ['https://one.workers.dev', 'https://two.workers.dev', false],
    ['https://one.github.io', 'https://two.github.io', false],
    ['https://mcp.one.co.uk', 'https://mcp.two.co.uk', false],
    ['https://mcp.one.co.uk', 'https://auth.one.co.uk', true],
    ['https://1.2.3.4', 'https://5.2.3.4', false],
    ['https://mcp.example.com', 'http://localhost:1', false],
  ]
  it.each(cases)('%s and %s: %s', (server, other, expected) => {
    expect(mayBeAsked(new URL(other), new URL(server), [])).toBe(expected)
  })
})
