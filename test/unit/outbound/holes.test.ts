import { describe, expect, it } from 'vitest'
import type { Carrier } from '#contracts/outbound.ts'
import { createUpstream } from '../../../src/features/access/oauth/oidc/upstream.ts'
import { createGuardedFetch } from '../../../src/features/mcp-servers/guarded-fetch.ts'
import { createFakeClock } from '../../fakes/kernel.ts'
import { sendOver } from '../../fakes/outbound.ts'
import { createSecretWorld } from '../../fakes/secret-world.ts'

/** A sign-in that is over, at a provider which says this of itself. */
async function signIn(
  says: Readonly<Record<string, string>>,
  issuer = 'https://login.example.com',
) {
  const asked: string[] = []
  const network: Carrier = async (url) => {
    asked.push(url)
    if (!url.includes('/.well-known/')) return Response.json({ id_token: 'x.y.z', keys: [] })
    return Response.json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      ...says,
    })
  }
  const { finish } = createUpstream({
    issuer,
    clientId: 'c',
    clientSecret: 'secret',
    send: sendOver(network),
    clock: { nowMs: () => 0 },
    randomBytes: (count) => new Uint8Array(count),
  })
  const answer = new URLSearchParams({ code: 'c' })
  const outcome = await finish({
    verifier: 'v',
    nonce: 'n',
    answer,
    origin: 'https://isola.example',
  })
  return { asked, outcome }
}

describe('T16: a provider of sign-ins', () => {
  it.each([
    ['token_endpoint', 'https://10.0.0.1/token'],
    ['token_endpoint', 'https://169.254.169.254/latest/meta-data'],
    ['token_endpoint', 'http://127.0.0.1:8080/admin'],
    ['token_endpoint', 'https://metadata.google.internal/'],
    ['jwks_uri', 'https://192.168.0.1/keys'],
    ['jwks_uri', 'http://localhost/keys'],
    ['jwks_uri', 'https://keys.example.net:8443/keys'],
  ])('does not send us to its %s %s', async (name, url) => {
    const { asked, outcome } = await signIn({ [name]: url })
    expect(outcome).toEqual({ ok: false, reason: 'upstream_failed' })
    expect(asked).not.toContain(url)
  })

  it.each([
    ['https://login.example.com', 'https://keys.example.net/keys'],
    ['https://login.example.com', 'https://login.example.com:8443/keys'],
    ['https://sso.corp', 'https://keys.corp:8443/keys'],
    ['http://localhost:8080', 'http://localhost:8081/keys'],
  ])('at %s is asked for its keys at %s', async (issuer, url) => {
    const { asked } = await signIn({ jwks_uri: url }, issuer)
    expect(asked).toContain(url)
  })
})

it.each(['GZIP', 'gzip, gzip', 'x-gzip'])(
  'T4: an answer that is said to be packed as %s, which no code here unpacks, is not handed to a plugin with secrets',
  async (encoding) => {
    const { fetch } = createSecretWorld({
      values: { TOKEN: 'a-secret-value' },
      answer: () => new Response('packed', { headers: { 'content-encoding': encoding } }),
    })
    await expect(fetch('https://api.example/')).rejects.toThrow('encoded in a way')
  },
)

it('T15: a request that a remote server never answers ends some time after its call', async () => {
  const clock = createFakeClock()
  let signal: AbortSignal | null | undefined
  const network: Carrier = (_url, init) => {
    signal = init.signal
    return new Promise(() => {})
  }
  const url = 'https://mcp.example.com/mcp'
  const allow = { elicitation: false }
  const config = {
    url,
    id: 'srv',
    headers: {},
    auth: 'headers' as const,
    authHosts: [],
    allow,
    timeoutMs: 60_000,
  }
  const guarded = createGuardedFetch(config, {
    send: sendOver(network, clock),
    checkUrl: (text) => new URL(text),
    readSecrets: async () => new Map(),
    onSecret: () => {},
  })
  void guarded(url, { method: 'POST', body: '{}' }).catch(() => {})
  await new Promise((resolve) => setImmediate(resolve))
  await clock.advance(60_000)
  expect(signal?.aborted ?? false).toBe(false)
  await clock.advance(30_000)
  expect(signal?.aborted).toBe(true)
})
