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

/** What the parts of signing in are built from. */
export interface LoginParts extends Sources {
  readonly operatorKey: string | undefined
  readonly keys: KeyStore
  readonly namespace: PrincipalNamespace
  readonly log: DeploymentLog
  readonly limits: RequestLimits
  readonly onFault: (error: unknown, requestId?: string) => void
  /** Takes what looking after wrong keys makes the platform do. */
  readonly deployment?: PlatformCount
  /** Opens the authorization server, on whose page keys alone are taken. Absent where its platform is not there. */
  readonly openOAuth?: ((authenticate: Authenticate) => OAuthService) | undefined
}

/** How somebody is let in: by a key, or by a token that was made for one. */
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
