import { defined } from '#contracts/defined.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import type { KeyStore } from './types/keys.ts'
import type { OAuthService } from './types/oauth.ts'
import type { Authenticate } from '#platform/routes/types/operations.ts'
import type { RequestLimits } from './types/request-limits.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { Sources } from '#contracts/sources.ts'
import { createAuthenticator } from './authenticator.ts'
import { createLoginLimit } from './login-limit.ts'
import type { PrincipalNamespace } from './principal-ledger.ts'

/** Dependencies of authentication and the authorization server. */
export interface LoginParts extends Sources {
  readonly operatorKey: string | undefined
  readonly keys: KeyStore
  readonly namespace: PrincipalNamespace
  readonly log: DeploymentLog
  readonly limits: RequestLimits
  readonly onFault: (error: unknown, requestId?: string) => void
  /** Counts the platform's work for wrong keys. */
  readonly deployment?: PlatformCount
  /** Opens the authorization server, whose page accepts keys alone. Absent without its KV binding. */
  readonly openOAuth?: ((authenticate: Authenticate) => OAuthService) | undefined
}

/** Builds authentication: by a key, or by a token of the authorization server. */
export function createLogins(parts: LoginParts): {
  readonly authenticate: Authenticate
  readonly oauth?: OAuthService
} {
  const options = { ...parts, logins: createLoginLimit(parts) }
  const oauth = parts.openOAuth?.(createAuthenticator(options))
  return {
    authenticate: createAuthenticator({ ...options, ...defined({ tokens: oauth }) }),
    ...defined({ oauth }),
  }
}
