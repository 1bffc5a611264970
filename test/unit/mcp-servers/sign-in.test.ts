import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSchemaValidator } from '../../../src/runtime/catalog/schema-validator.ts'
import { errorMessage } from '../../../src/contracts/errors.ts'
import { mcpServerSchema } from '../../../src/runtime/catalog/types/mcp.ts'
import { createSignIn } from '../../../src/features/mcp-servers/oauth/sign-in.ts'

const config = mcpServerSchema.parse({ id: 'srv', url: 'https://example.com/mcp', auth: 'oauth' })

/** Signing in over a memory; `answer` is the whole network. */
function createWorld(answer: (url: URL, init?: RequestInit) => Promise<Response>) {
  const kept = new Map<string, unknown>()
  const signedIn: object[] = []
  let count = 0
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const signIn = createSignIn({
    storeOf: () => ({
      get: async <T>(key: string) => kept.get(key) as T | undefined,
      put: async (key, value) => void kept.set(key, value),
      delete: (key) => void kept.delete(key),
    }),
    connectDeps: () => ({
      guardedFetch: (url, init) => {
        ask()
        return answer(new URL(url), init)
      },
      validator: createSchemaValidator(),
      version: '1',
      answer: () => Promise.reject(new Error('Nobody is asked.')),
      onListChanged: () => {},
    }),
    checkUrl: (url) => new URL(url),
    readSecrets: async () => new Map(),
    nowMs: () => 1_000_000,
    learn: () => {},
    onSignedIn: (what) => void signedIn.push(what),
    secret: () => `secret-${(count += 1)}`,
  })
  return { signIn, kept, signedIn, asked }
}

describe('T15: an authorization server that never answers', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** The outcome of begun work after half a minute. */
  async function afterHalfAMinute(work: Promise<unknown>, asked: Promise<void>): Promise<string> {
    const outcome = work.then(() => 'It came to an end.', errorMessage)
    await asked
    await vi.advanceTimersByTimeAsync(30_000)
    return Promise.race([outcome, Promise.resolve('It still waits.')])
  }
  const never = () => new Promise<Response>(() => {})

  it('ends what the browser brought back, on the record, and its state is used up', async () => {
    const { signIn, kept, signedIn, asked } = createWorld(never)
    const login = { state: 'srv.s', verifier: 'v', origin: 'https://a', startedAtMs: 1_000_000 }
    kept.set('login', login)
    const finished = signIn.finish(config, '?code=c&state=srv.s')
    expect(await afterHalfAMinute(finished, asked)).toBe('It took longer than 30 seconds.')
    expect(signedIn).toEqual([{ server: 'srv', refused: 'tool_failed' }])
    await expect(signIn.finish(config, '?code=c&state=srv.s')).rejects.toMatchObject({
      code: 'request_invalid',
    })
  })

  it('ends a sign-in that asks for more rights', async () => {
    const { signIn, kept, asked } = createWorld(never)
    kept.set('wanted', 'files:write')
    const begun = signIn.begin(config, 'https://isola.example')
    expect(await afterHalfAMinute(begun, asked)).toBe('It took longer than 30 seconds.')
  })

  it('ends a sign-in that begins', async () => {
    const { signIn, asked } = createWorld(async (url) =>
      url.href === config.url ? new Response(null, { status: 401 }) : never(),
    )
    const begun = signIn.begin(config, 'https://isola.example')
    expect(await afterHalfAMinute(begun, asked)).toContain('timed out after 30000ms')
  })
})

describe('T16: a client that registered itself', () => {
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/oauth-protected-resource/mcp': {
      resource: config.url,
      authorization_servers: ['https://example.com'],
    },
    '/.well-known/oauth-authorization-server': {
      issuer: 'https://example.com',
      authorization_endpoint: 'https://example.com/authorize',
      token_endpoint: 'https://example.com/token',
      registration_endpoint: 'https://example.com/register',
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
  }

  it('is used for the address of this deployment that it registered, and for no other', async () => {
    let count = 0
    const { signIn } = createWorld(async ({ pathname }, init) => {
      if (pathname === '/register') {
        const about = JSON.parse(String(init?.body)) as object
        return Response.json({ ...about, client_id: `client-${(count += 1)}` }, { status: 201 })
      }
      const found = documents[pathname]
      return found ? Response.json(found) : new Response(null, { status: 401 })
    })
    const pageFrom = async (origin: string) => {
      const begun = await signIn.begin(config, origin)
      const { searchParams } = new URL(begun.state === 'open' ? begun.url : 'none:')
      return [searchParams.get('client_id'), searchParams.get('redirect_uri')]
    }
    const one = ['client-1', 'https://one.example/mcp/callback']
    expect(await pageFrom('https://one.example')).toEqual(one)
    expect(await pageFrom('https://two.example')).toEqual([
      'client-2',
      'https://two.example/mcp/callback',
    ])
    expect(await pageFrom('https://one.example')).toEqual(one)
  })
})
