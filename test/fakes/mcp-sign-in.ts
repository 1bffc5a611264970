import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { mcpServerSchema, type McpServerConfig } from '../../src/runtime/catalog/types/mcp.ts'
import { createSealedStore } from '../../src/features/mcp-servers/oauth/sealed-store.ts'
import { createSignIn } from '../../src/features/mcp-servers/oauth/sign-in.ts'
import { createServerLink } from '../../src/features/mcp-servers/server-link.ts'
import { createReplyRedactor } from '../../src/features/plugins/secrets/reply-redactor.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { createFakeMcp } from './mcp-server.ts'
import { outboundOver } from './outbound.ts'

export const here = 'https://isola.example'

export interface FakeAuth {
  /** Where the authorization server is. */
  readonly issuer?: string
  /** Instead of what an honest one says. */
  readonly resource?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly challenge?: string
  readonly token?: (params: URLSearchParams) => Response
  readonly about?: Partial<McpServerConfig>
  readonly secrets?: ReadonlyMap<string, string>
}

/** A server that wants a token, and the authorization server it names: honest, but for what a test says. */
export function createAuthWorld(fake: FakeAuth = {}) {
  const { issuer = 'https://auth.example.com' } = fake
  const server = createFakeMcp()
  const kept = new Map<string, string>()
  const store = {
    get: (key: string): unknown => JSON.parse(kept.get(key) ?? 'null') ?? undefined,
    put: (key: string, value: unknown) => void kept.set(key, JSON.stringify(value)),
    delete: (key: string) => void kept.delete(key),
  }
  const asked: string[] = []
  const registered: string[] = []
  const tokens = new Set<string>()
  const learned: string[] = []
  const signedIn: object[] = []
  let count = 0
  let at = issuer
  const base = () => at.replace(/\/$/, '')
  const limits: (readonly [string, boolean])[] = []
  const metadata = () => ({
    issuer: at,
    authorization_endpoint: `${base()}/authorize`,
    token_endpoint: `${base()}/token`,
    registration_endpoint: `${base()}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    ...fake.metadata,
  })
  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url)
    asked.push(url.href)
    if (url.href === server.url) {
      const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
      if (tokens.has(token)) return server.answer(request)
      const challenge =
        fake.challenge ??
        'Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"'
      return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } })
    }
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource'))
      return Response.json({
        resource: server.url,
        authorization_servers: [at],
        ...fake.resource,
      })
    if (url.pathname.startsWith('/.well-known/')) return Response.json(metadata())
    if (url.pathname === '/register') {
      registered.push((count += 1).toString())
      const body = (await request.json()) as object
      return Response.json({ ...body, client_id: `client-${count}` }, { status: 201 })
    }
    if (url.pathname === '/token') {
      const params = new URLSearchParams(await request.text())
      if (fake.token) return fake.token(params)
      const token = `token-number-${(count += 1)}`
      tokens.add(token)
      return Response.json({
        access_token: token,
        token_type: 'Bearer',
        refresh_token: 'refresh-me',
      })
    }
    return new Response(null, { status: 404 })
  }
  const config = mcpServerSchema.parse({
    id: 'srv',
    url: server.url,
    auth: 'oauth',
    timeoutMs: 2_000,
    ...fake.about,
  })
  const open = () => {
    const deps = {
      ...systemSources,
      ...outboundOver((url, init) => {
        limits.push([url, init.signal instanceof AbortSignal])
        return answer(new Request(url, init))
      }),
      readSecrets: async () => fake.secrets ?? new Map<string, string>(),
      validator: createSchemaValidator(),
      version: '1',
      onQuarantined: () => {},
      onSignedIn: (what: object) => void signedIn.push(what),
      learn: (value: string) => {
        learned.push(value)
        link.learn(value)
      },
      secret: () => `secret-${(count += 1)}`,
    }
    const signIn: ReturnType<typeof createSignIn> = createSignIn({
      ...deps,
      nowMs: () => Date.now(),
      connectDeps: (given) => link.connectDeps(given),
      storeOf: ({ url }) =>
        createSealedStore(
          store,
          {
            seal: async (name, value) => ({ name, sealed: btoa(value), keyId: 'k' }),
            open: async ({ sealed }) => atob(sealed),
          },
          url,
          deps.learn,
        ),
    })
    const link: ReturnType<typeof createServerLink> = createServerLink(store, {
      ...deps,
      redactorOf: (values) => createReplyRedactor(values).text,
      providerOf: (given) => signIn.providerOf(given),
    })
    return { signIn, link }
  }
  let parts = open()
  return {
    config,
    server,
    answer,
    asked,
    registered,
    tokens,
    learned,
    signedIn,
    limits,
    /** Another authorization server from now on. */
    move: (to: string) => {
      at = to
    },
    provider: () => parts.signIn.providerOf(config),
    kept,
    sleep: () => {
      parts = open()
    },
    begin: () => parts.signIn.begin(config, here),
    finish: (query: string) => parts.signIn.finish(config, query),
    isSignedIn: () => parts.signIn.isSignedIn(config),
    look: () => parts.link.look(config),
    renew: () => parts.link.renew(),
    hosts: () => new Set(asked.map((url) => new URL(url).hostname)),
  }
}
