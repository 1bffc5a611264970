import type { DeploymentEvent } from '#contracts/event.ts'
import type { Administrator } from '#contracts/keys.ts'
import type { Client, Principal } from '#contracts/operations.ts'
import type { Scope } from '#contracts/scopes.ts'

/** The parts of the deployment a token can be for: one each, never two. */
export const resourcePaths = ['/mcp', '/v1', '/api'] as const

/** Why there is no sign-in at an address. */
export const notOurHost =
  'Sign-in is not set up for this address. The operator names the hosts of the deployment in ISOLA_HOSTS.'

/** What a consent page shows. Every text of the client's is as the client wrote it: to be escaped. */
export interface Consent {
  readonly clientName: string
  /** The host that vouches for the client: only of a client that is named by a document on it. */
  readonly clientHost?: string
  readonly redirectHost: string
  /** `scheme://host:port` of where the answer goes. */
  readonly redirectOrigin: string
  /** The answer goes to a program on the user's own machine, whichever listens there. */
  readonly isLoopback: boolean
  readonly resource: string
  readonly scopes: readonly Scope[]
  /** Of these, those that are ticked when the page opens. */
  readonly ticked: readonly Scope[]
  /** Posted back by the form; good once, in this browser, for ten minutes. */
  readonly handle: string
  /** The host of the upstream provider, if somebody may sign in with it. */
  readonly upstreamHost?: string
  /** `scheme://host:port` of it. */
  readonly upstreamOrigin?: string
  /** What went wrong with the sign-in before; safe to show. */
  readonly problem?: { readonly status: number; readonly message: string }
}

/** What the browser is to get next. */
export type AuthorizationStep =
  | { readonly kind: 'ask'; readonly consent: Consent; readonly cookies: readonly string[] }
  | { readonly kind: 'redirect'; readonly to: string; readonly cookies: readonly string[] }
  /** Shown here, since nothing says that the address to go back to is the client's. `message` may quote what was sent. */
  | { readonly kind: 'refuse'; readonly status: number; readonly message: string }

/** What somebody chose on the page. */
export interface ConsentForm {
  readonly decision: 'key' | 'upstream' | 'deny'
  readonly handle: string
  readonly key: string
  readonly scopes: readonly string[]
}

/** What was allowed whom, as an operator may see it. */
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
  /** What the grant is called in KV; absent until the client came for its tokens. */
  readonly libraryId?: string
}

/** Whose grants are listed, newest first, and how many. */
export interface GrantQuery {
  readonly principal?: string
  readonly limit: number
}

/**
 * The table of grants. Each change lands with its event, both or neither. Every verb may throw `request_unavailable`.
 * Nothing is cached: what was revoked is so for the next question.
 */
export interface GrantStore {
  readonly find: (id: string) => Promise<OAuthGrant | undefined>
  readonly findByLibraryId: (libraryId: string) => Promise<OAuthGrant | undefined>
  /** Newest first. */
  readonly list: (query: GrantQuery) => Promise<readonly OAuthGrant[]>
  /** Ends what the same client had for the same resource and principal. Throws `request_conflict` if the id is there. */
  readonly add: (grant: OAuthGrant, event: DeploymentEvent) => Promise<void>
  /** True for the first time, and only for a grant that still holds. */
  readonly redeem: (id: string, libraryId: string, nowMs: number) => Promise<boolean>
  /** Changes nothing of a grant that has ended before. */
  readonly revoke: (id: string, event: DeploymentEvent) => Promise<void>
  /** Deletes what ended before `endedMs`. */
  readonly purge: (endedMs: number) => Promise<void>
}

/** What an operator does with grants. Throws `request_not_found` or `request_unavailable`. */
export interface GrantAdministration {
  readonly list: GrantStore['list']
  /** Ends its tokens with the next request. The same again changes nothing. */
  readonly revoke: (id: string, by: Administrator) => Promise<OAuthGrant>
}

/** Finds out whose a token is. */
export interface TokenReader {
  /**
   * Who shows this token at this address; `undefined` for one that is wrong, expired, revoked, for another resource, or
   * whose key or person is no longer let in. May throw `request_unavailable`.
   */
  readonly principalOf: (token: string, url: string) => Promise<Principal | undefined>
}

/** The authorization server, and what the rest of the deployment says about it. */
export interface OAuthService extends TokenReader {
  /** The parameters of a `WWW-Authenticate: Bearer`; `undefined` where no token would be taken. */
  readonly challenge: (
    url: string,
    about: { readonly error?: string; readonly scopes: readonly Scope[] },
  ) => string | undefined
  /**
   * Metadata, tokens, registration. `undefined` at a host that is not among ours. Throws `request_queue_full` for an
   * address that registers too many clients.
   */
  readonly protocol: (
    request: Request,
    about: { readonly client: Client; readonly context: ExecutionContext },
  ) => Promise<Response | undefined>
  readonly authorize: (request: Request, client: Client) => Promise<AuthorizationStep>
  /** @param request The POST; its form was read before. */
  readonly decide: (
    request: Request,
    form: ConsentForm,
    client: Client,
  ) => Promise<AuthorizationStep>
  /** Somebody comes back from the upstream provider. */
  readonly finishUpstream: (request: Request, client: Client) => Promise<AuthorizationStep>
  readonly grants: GrantAdministration
  /** What is to be done once a day. */
  readonly daily: () => Promise<void>
}
