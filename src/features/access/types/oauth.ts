import type { DeploymentEvent } from '#contracts/event.ts'
import type { Administrator, Scope } from '#contracts/keys.ts'
import type { RequestClient, Principal } from '#contracts/operations.ts'

/** The resources a token can be for: one each, never two. */
export const resourcePaths = ['/mcp', '/v1', '/api'] as const

/** Why an address has no sign-in. */
export const notOurHost =
  'Sign-in is not set up for this address. The operator names the hosts of the deployment in ISOLA_HOSTS.'

/** The content of a consent page. The client wrote some of the texts: escape them. */
export interface Consent {
  readonly clientName: string
  /** The host that vouches for the client; set only for a client that is named by a document on it. */
  readonly clientHost?: string
  readonly redirectHost: string
  /** `scheme://host:port` of where the answer goes. */
  readonly redirectOrigin: string
  /** The answer goes to a program on the user's own machine, whichever program listens there. */
  readonly isLoopback: boolean
  readonly resource: string
  readonly scopes: readonly Scope[]
  /** The scopes that are ticked when the page opens. */
  readonly ticked: readonly Scope[]
  /** Posted back by the form; good once, in this browser, for ten minutes. */
  readonly handle: string
  /** The host of the upstream provider, if the deployment has one. */
  readonly upstreamHost?: string
  /** `scheme://host:port` of it. */
  readonly upstreamOrigin?: string
  /** Why the sign-in before failed; safe to show. */
  readonly problem?: { readonly status: number; readonly message: string }
}

/** The browser's next step. */
export type AuthorizationStep =
  | { readonly kind: 'ask'; readonly consent: Consent; readonly cookies: readonly string[] }
  | { readonly kind: 'redirect'; readonly to: string; readonly cookies: readonly string[] }
  /** Shown here, because the redirect address is not proven to be the client's. `message` may quote the request. */
  | { readonly kind: 'refuse'; readonly status: number; readonly message: string }

/** The user's choice on the page. */
export interface ConsentForm {
  readonly decision: 'key' | 'upstream' | 'deny'
  readonly handle: string
  readonly key: string
  readonly scopes: readonly string[]
}

/** A client's grant, as an operator sees it. */
export interface OAuthGrant {
  /** `grant_` + 22 characters. */
  readonly id: string
  readonly principal: string
  readonly client: string
  readonly clientName: string
  readonly redirectUri: string
  readonly resource: string
  readonly scopes: readonly Scope[]
  /** The key's id, `operator` or `oidc:` + subject. */
  readonly signedInWith: string
  readonly createdAtMs: number
  readonly expiresAtMs: number
  readonly redeemedAtMs?: number
  readonly revokedAtMs?: number
  /** The grant that took its place when the same client was signed in again. */
  readonly followedBy?: string
  /** The grant's id in KV; absent until the client redeemed its code. */
  readonly libraryId?: string
}

/** Whether a grant opens anything now. */
export const isHeld = ({ revokedAtMs, expiresAtMs }: OAuthGrant, nowMs: number): boolean =>
  revokedAtMs === undefined && nowMs < expiresAtMs

/** Filter and length of a list of grants, newest first. */
interface GrantQuery {
  readonly principal?: string
  readonly limit: number
}

/**
 * The table of grants. Each change lands with its event, both or neither. Every verb may throw `request_unavailable`.
 * Nothing is cached, so a revocation holds from the next lookup on.
 */
export interface GrantStore {
  readonly find: (id: string) => Promise<OAuthGrant | undefined>
  readonly findByLibraryId: (libraryId: string) => Promise<OAuthGrant | undefined>
  /** Newest first. */
  readonly list: (query: GrantQuery) => Promise<readonly OAuthGrant[]>
  /** Ends the same client's grant for the same resource and principal. Throws `request_conflict` if the id exists. */
  readonly add: (grant: OAuthGrant, event: DeploymentEvent) => Promise<void>
  /** True at the first call only, and only while the grant holds. */
  readonly redeem: (id: string, libraryId: string, nowMs: number) => Promise<boolean>
  /** Changes nothing of a grant that has ended. */
  readonly revoke: (id: string, event: DeploymentEvent) => Promise<void>
  /** Deletes grants that ended before `endedMs`. */
  readonly purge: (endedMs: number) => Promise<void>
}

/** The operator's list and revocation of grants. Throws `request_not_found` or `request_unavailable`. */
export interface GrantAdministration {
  readonly list: GrantStore['list']
  /** Ends the grant's tokens from the next request on. A repeated call changes nothing. */
  readonly revoke: (id: string, by: Administrator) => Promise<OAuthGrant>
}

/** Finds the principal of a token. */
export interface TokenReader {
  /**
   * The principal that a token speaks for at this address; `undefined` for a token that is wrong, expired, revoked or
   * for another resource, or whose key or person is no longer accepted. May throw `request_unavailable`.
   */
  readonly principalOf: (token: string, url: string) => Promise<Principal | undefined>
}

/** The authorization server. */
export interface OAuthService extends TokenReader {
  /** The parameters of a `WWW-Authenticate: Bearer`; `undefined` where tokens are not accepted. */
  readonly challenge: (
    url: string,
    about: { readonly error?: string; readonly scopes: readonly Scope[] },
  ) => string | undefined
  /**
   * Metadata, tokens, registration. `undefined` at a foreign host. Throws `request_queue_full` for an address that
   * registers too many clients.
   */
  readonly protocol: (
    request: Request,
    about: { readonly client: RequestClient; readonly context: ExecutionContext },
  ) => Promise<Response | undefined>
  readonly authorize: (request: Request, client: RequestClient) => Promise<AuthorizationStep>
  /** @param request The POST, whose form has been read already. */
  readonly decide: (
    request: Request,
    form: ConsentForm,
    client: RequestClient,
  ) => Promise<AuthorizationStep>
  /** The upstream provider sends the browser back. */
  readonly finishUpstream: (request: Request, client: RequestClient) => Promise<AuthorizationStep>
  readonly grants: GrantAdministration
  /** Deletes ended grants and expired rows of KV; called once a day. */
  readonly daily: () => Promise<void>
}
