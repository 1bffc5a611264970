import type { DeploymentLog } from '#contracts/event.ts'
import type { KeyStore } from '#features/access/types/keys.ts'
import type { GrantStore, OAuthService } from '#features/access/types/oauth.ts'
import type { Authenticate } from '#platform/routes/types.ts'
import type { Outbound } from '#contracts/outbound.ts'
import type { PrincipalRates } from '#runtime/session/types/principal.ts'
import type { Sources } from '#contracts/sources.ts'
import { networkOf } from '#features/access/request-limits.ts'
import { createAuthorization } from '#features/access/oauth/authorization.ts'
import { createGrantAdministration } from '#features/access/oauth/grant-administration.ts'
import { createIdentity } from '#features/access/oauth/identity.ts'
import { createTokenReader } from '#features/access/oauth/token-reader.ts'
import { createLibrary } from '#features/access/oauth/library.ts'
import { createLimit } from '#features/access/oauth/limit.ts'
import { findPerson, type Person } from '#features/access/oauth/oidc/people.ts'
import { createUpstream, type UpstreamConfig } from '#features/access/oauth/oidc/upstream.ts'
import { createOriginOf } from '#features/access/oauth/origins.ts'
import { createMayHaveTokens, createProtocol } from '#features/access/oauth/protocol.ts'
import { createSignIns } from '#features/access/oauth/sign-in.ts'
import { createStrangersLog } from '#features/access/oauth/strangers-log.ts'

/** The dependencies of the authorization server. */
export interface OAuthParts extends Sources, Pick<Outbound, 'send' | 'checkUrl'> {
  readonly kv: KVNamespace
  readonly config: {
    readonly hosts: readonly string[]
    readonly isDevelopment: boolean
    readonly operatorKey: string | undefined
    readonly oidc: (UpstreamConfig & { readonly people: readonly Person[] }) | undefined
  }
  readonly keys: KeyStore
  readonly grants: GrantStore
  readonly log: DeploymentLog
  readonly takeRate: PrincipalRates['takeRate']
  readonly randomBytes: (count: number) => Uint8Array
  readonly onFault: (error: unknown) => void
}

/**
 * The authorization server from its parts: leaves first. The Worker's entry brings it in, since it needs the
 * platform.
 */
export function openOAuth(parts: OAuthParts): (authenticate: Authenticate) => OAuthService {
  const { kv, config, keys, grants, log, clock, sha256, onFault } = parts
  const { operatorKey, oidc } = config
  const originOf = createOriginOf(config)
  const identity = createIdentity({
    operatorKey,
    sha256,
    keys,
    grants,
    clock,
    personOf: (by) => (oidc && by.issuer === oidc.issuer ? findPerson(oidc.people, by) : undefined),
  })
  const mayHaveTokens = createMayHaveTokens(identity, grants, clock)
  const library = createLibrary({ kv, mayHaveTokens })
  const limit = createLimit(parts.takeRate, networkOf)
  const record = createStrangersLog(log, parts.takeRate, networkOf)
  const about = { originOf, library, identity, grants, record, clock, limit, sha256 }
  const { answer, forget, daily } = createProtocol({ ...about, kv, onFault })
  return (authenticate) => ({
    ...createTokenReader(about),
    ...createAuthorization({
      ...about,
      authenticate,
      signIns: createSignIns(about),
      upstream: oidc && createUpstream({ ...oidc, ...parts }),
    }),
    protocol: answer,
    grants: createGrantAdministration({ grants, clock, forget }),
    daily,
  })
}
