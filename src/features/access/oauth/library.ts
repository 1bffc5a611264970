import { baselineScope } from '#platform/routes/types/scopes.ts'
import {
  AuthorizationError,
  authorizationErrorRedirect,
  CimdFetchError,
  OAuthAuthorizationServer,
  OAuthError,
  type OAuthHelpers,
} from '@cloudflare/workers-oauth-provider'
import { errorCode } from '#contracts/errors.ts'
import { resourcePaths } from '../types/oauth.ts'
import { scopes } from '#contracts/keys.ts'

/** Any page may read the document, and no client may cache it, since an address may move. */
const headers = {
  'cache-control': 'no-store',
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, *',
  'access-control-max-age': '86400',
}

/**
 * The document that says how to sign in at a part of this deployment.
 *
 * @param part Path of the part, such as `/mcp`.
 * @see RFC 9728, section 2
 */
function describeResource(
  { method }: Pick<Request, 'method'>,
  { origin, part }: { readonly origin: string; readonly part: string },
): Response {
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers })
  const document = {
    resource: origin + part,
    authorization_servers: [origin],
    // The document of `/api` lists no scopes: a client must ask for operator rights by name, and not take them as the
    // baseline.
    ...(part !== '/api' && { scopes_supported: [baselineScope] }),
    bearer_methods_supported: ['header'],
    resource_name: 'Isola',
  }
  return Response.json(document, { headers })
}

/** The library's fixed name for the namespace that holds all its rows. */
interface LibraryEnv {
  readonly OAUTH_KV: KVNamespace
}

/** Lifetime of an access token, in seconds. */
const accessTokenSeconds = 3_600
/** A refresh token that is not used for so many seconds has ended. */
export const refreshTokenSeconds = 30 * 86_400
const registrationSeconds = 90 * 86_400

/** Requested by clients that want to come again without the user. The library issues a refresh token anyway. */
export const offlineScope = 'offline_access'

/** A client's request for tokens. A refusal ends the grant in KV; an unreachable database does not. */
export interface Redemption {
  readonly isFirst: boolean
  readonly props: unknown
  readonly libraryId: string
}

/** Where tokens are kept, and the check before the library issues any. */
interface LibraryOptions {
  readonly kv: KVNamespace
  /** Whether the library may issue tokens. May throw `request_unavailable`. */
  readonly mayHaveTokens: (redemption: Redemption) => Promise<boolean>
}

/** The authorization server at one address of the deployment. */
export interface AuthorizationServer {
  readonly api: OAuthHelpers
  readonly fetch: (request: Request, context: ExecutionContext) => Promise<Response>
  readonly validateToken: (
    resource: string,
    token: string,
  ) => Promise<{ readonly props: unknown; readonly scope: readonly string[] } | null>
}

/** The authorization server at an address of this deployment (`https://…`). */
export type Library = (origin: string) => AuthorizationServer

/** The only module that knows the library. One server for each address, with a metadata document for each resource. */
export function createLibrary({ kv, mayHaveTokens }: LibraryOptions): Library {
  const bindings: LibraryEnv = { OAUTH_KV: kv }
  const build = (origin: string): AuthorizationServer => {
    const resources = resourcePaths.map((path) => origin + path)
    const server = new OAuthAuthorizationServer<LibraryEnv>({
      issuer: origin,
      resources,
      // A client that names no resource is an MCP client from before resource indicators.
      defaultResource: `${origin}/mcp`,
      clientRegistrationEndpoint: '/oauth/register',
      scopesSupported: [...scopes, offlineScope],
      accessTokenTTL: accessTokenSeconds,
      refreshTokenTTL: refreshTokenSeconds,
      clientRegistrationTTL: registrationSeconds,
      clientIdMetadataDocumentEnabled: true,
      onError: () => undefined,
      tokenExchangeCallback: async ({ grantType, props, grantId }) => {
        const isFirst = grantType === 'authorization_code'
        if (await allowed(mayHaveTokens, { isFirst, props, libraryId: grantId })) return
        throw new OAuthError('invalid_grant', { description: 'The grant has ended' })
      },
    })
    return {
      api: server.getOAuthApi(bindings),
      validateToken: (resource, token) => server.validateToken(resource, token, bindings),
      async fetch(request, context) {
        const { pathname } = new URL(request.url)
        const part = resourcePaths.find((path) => pathname === `${metadataPath}${path}`)
        return part === undefined
          ? server.fetch(request, bindings, context)
          : describeResource(request, { origin, part })
      },
    }
  }
  const servers = new Map<string, AuthorizationServer>()
  return (origin) => {
    const known = servers.get(origin)
    if (known) return known
    // Few addresses exist, except on a developer's machine, where a local client may name any port.
    if (servers.size >= 20) servers.clear()
    const server = build(origin)
    servers.set(origin, server)
    return server
  }
}

/** Where the metadata of the resources is; the resource's path (`/v1`, `/mcp`, `/api`) follows. */
export const metadataPath = '/.well-known/oauth-protected-resource'

async function allowed(
  mayHaveTokens: LibraryOptions['mayHaveTokens'],
  redemption: Redemption,
): Promise<boolean> {
  try {
    return await mayHaveTokens(redemption)
  } catch (error) {
    if (errorCode(error) !== 'request_unavailable') throw error
    throw new OAuthError('temporarily_unavailable', {
      description: 'The database cannot be reached at the moment',
      statusCode: 503,
      headers: { 'Retry-After': '5' },
    })
  }
}

/** Where to send the browser with an error, or what to show it; `undefined` for an error that is a bug. */
export function toRefusal(
  error: unknown,
): { readonly to: string } | { readonly message: string } | undefined {
  if (error instanceof AuthorizationError)
    return error.redirectTo === undefined
      ? { message: error.description }
      : { to: error.redirectTo }
  if (error instanceof CimdFetchError)
    return { message: 'The document that describes this client could not be read.' }
  return undefined
}

export { authorizationErrorRedirect }
export type { AuthRequest } from '@cloudflare/workers-oauth-provider'
