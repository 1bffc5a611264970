import { defined } from '#contracts/defined.ts'
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { IsolaError } from '#contracts/errors.ts'
import { secretReference, type McpServerConfig } from '#runtime/catalog/types/mcp.ts'
import type { ReadSecrets } from '#features/access/types/secrets.ts'
import type { CheckUrl } from '#contracts/outbound.ts'
import { mayBeAsked } from '../guarded-fetch.ts'
import type { SealedStore } from './sealed-store.ts'

/** Where a browser comes back to after a sign-in. */
export const callbackPath = '/mcp/callback'
/** Where our client metadata is, for servers that take a URL as the client's id. */
export const clientMetadataPath = '/mcp/client.json'

const maxTokenChars = 4_096

/** A sign-in that waits for a person at a browser. */
export interface PendingLogin {
  readonly state: string
  readonly verifier: string
  readonly origin: string
  readonly startedAtMs: number
  readonly url?: string
  /** The principal that signs in for itself; absent for the deployment's sign-in. */
  readonly principal?: string
  /** Of a principal's sign-in: the browser's parameters, and the code that finishes it. */
  readonly came?: { readonly query: string; readonly code: string }
  readonly isDenied?: true
}

/** The state of a sign-in that was begun. */
export type BegunLogin = Pick<PendingLogin, 'state' | 'principal'>

/** One server's sign-in: its configuration, its sealed rows, and the origin under which it was begun. */
interface ProviderOptions {
  readonly config: McpServerConfig
  readonly store: SealedStore
  readonly checkUrl: CheckUrl
  readonly readSecrets: ReadSecrets
  /** Where this deployment is reached by a browser. */
  readonly origin: string
  readonly nowMs: () => number
  /** Receives each secret value before its first use, so that replies can be redacted. */
  readonly learn: (value: string) => void
  /** Where a document about this program is; this deployment has one. */
  readonly clientMetadataUrl?: string
  /** The state of a sign-in that was begun; without it a browser is sent nowhere. */
  readonly login?: BegunLogin
}

/** The metadata of this program for authorization servers (RFC 7591). */
export const clientMetadataOf = (origin: string) => ({
  client_name: 'Isola',
  redirect_uris: [`${origin}${callbackPath}`],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
})

/**
 * The library's port for signing in. All values are sealed in the server's object and survive its sleep; tokens and
 * registrations are stored by issuer, and belong to this one address (RFC 8707). Without a begun sign-in nothing is
 * stored: a server that wants a new sign-in in the middle of a call is refused.
 */
export function createOAuthProvider(options: ProviderOptions): OAuthClientProvider {
  const { config, store, origin, login } = options
  const isHttps = origin.startsWith('https:')
  const change = async (part: Partial<PendingLogin>): Promise<void> => {
    if (!login) return
    const before = await store.get<PendingLogin>('login')
    const begun = { ...login, verifier: '', origin, startedAtMs: options.nowMs() }
    await store.put('login', { ...(before?.state === login.state ? before : begun), ...part })
  }
  const issuerOf = async (issuer: string | undefined) =>
    plainIssuer(issuer ?? (await store.get<string>('issuer')) ?? '')
  // A registration names the address to come back to: another deployment address is another client.
  const clientKey = async (issuer: string | undefined) =>
    `client ${origin} ${await issuerOf(issuer)}`
  const tokensKey = async (issuer: string | undefined) => `tokens ${await issuerOf(issuer)}`
  const isByHand = config.clientId !== undefined
  return {
    redirectUrl: `${origin}${callbackPath}`,
    clientMetadata: clientMetadataOf(origin),
    // Only where others can fetch it.
    ...(isHttps &&
      !isByHand && {
        clientMetadataUrl: options.clientMetadataUrl ?? `${origin}${clientMetadataPath}`,
      }),
    state: () => login?.state ?? '',
    async clientInformation(about) {
      return isByHand
        ? registeredByHand(options, about?.issuer)
        : store.get<StoredOAuthClientInformation>(await clientKey(about?.issuer))
    },
    // Without this method the library registers no client. Only a begun sign-in registers, and not beside a client
    // that the operator set by hand.
    ...(login &&
      !isByHand && {
        async saveClientInformation(client, about) {
          await store.put(await clientKey(about?.issuer), client)
        },
      }),
    async tokens(about) {
      return store.get<StoredOAuthTokens>(await tokensKey(about?.issuer))
    },
    async saveTokens(tokens, about) {
      for (const token of [tokens.access_token, tokens.refresh_token ?? ''])
        if (token.length > maxTokenChars)
          throw new IsolaError(
            'tool_failed',
            `The authorization server gave a token of more than ${maxTokenChars} characters.`,
          )
      await store.put(await tokensKey(about?.issuer), tokens)
      await store.put('issuer', await issuerOf(about?.issuer))
      await store.put('origin', origin)
    },
    async redirectToAuthorization(url) {
      checkAuthorizationUrl(url, options)
      await change({ url: url.href })
      // In the middle of a call no browser is at hand: the server's scope is requested at the next sign-in.
      const scope = url.searchParams.get('scope')
      if (!login && scope !== null) await store.put('wanted', scope)
    },
    saveCodeVerifier: (verifier) => change({ verifier }),
    async codeVerifier() {
      const { verifier } = (await store.get<PendingLogin>('login')) ?? {}
      if (verifier === undefined)
        throw new IsolaError('request_invalid', 'No sign-in is under way.')
      return verifier
    },
    saveDiscoveryState: async (state) => store.put('discovery', state),
    discoveryState: async () => store.get<OAuthDiscoveryState>('discovery'),
    async invalidateCredentials(what) {
      const known = await store.get<OAuthDiscoveryState>('discovery')
      const issuer = known?.authorizationServerMetadata?.issuer ?? known?.authorizationServerUrl
      if (what === 'all' || what === 'client') store.delete(await clientKey(issuer))
      if (what === 'all' || what === 'tokens') store.delete(await tokensKey(issuer))
      if (what === 'all' || what === 'discovery') store.delete('discovery')
    },
  }

  /** A page that a browser opens: `javascript:` and its like are no addresses, and another site is another site. */
  function checkAuthorizationUrl(url: URL, { checkUrl }: ProviderOptions): void {
    const server = new URL(config.url)
    let checked: URL
    try {
      checked = checkUrl(url.href)
    } catch {
      throw new IsolaError(
        'tool_failed',
        'The page to sign in at has an address that is not allowed.',
      )
    }
    if (checked.origin !== server.origin && !mayBeAsked(checked, server, config.authHosts))
      throw new IsolaError(
        'tool_failed',
        `The page to sign in at is on ${checked.hostname}: an operator can allow it with --auth-host.`,
      )
  }
}

/** Servers write the same issuer with a slash at its end, and without. */
export const plainIssuer = (issuer: string): string => issuer.replace(/\/$/, '')

/**
 * A client that the operator registered by hand, at one authorization server: the server named with it, or else the
 * first that was used. It is bound to that server, and the library uses it at no other, whichever the MCP server
 * names today.
 */
async function registeredByHand(
  {
    config: { clientId = '', clientSecret, issuer: named },
    store,
    readSecrets,
    learn,
  }: ProviderOptions,
  issuer: string | undefined,
): Promise<StoredOAuthClientInformation | undefined> {
  const first = named ?? (await store.get<string>('client issuer'))
  if (first === undefined && issuer !== undefined)
    await store.put('client issuer', plainIssuer(issuer))
  const pinned = first ?? issuer
  if (pinned === undefined) return undefined
  const isPinned = issuer === undefined || plainIssuer(issuer) === plainIssuer(pinned)
  if (!isPinned) return { client_id: clientId, issuer: pinned }
  const [name] = [...(clientSecret ?? '').matchAll(secretReference)].map(([, one]) => one ?? '')
  const secret = name === undefined ? undefined : (await readSecrets([name])).get(name)
  if (secret !== undefined) learn(secret)
  return {
    client_id: clientId,
    ...defined({ client_secret: secret }),
    issuer: issuer ?? pinned,
  }
}
