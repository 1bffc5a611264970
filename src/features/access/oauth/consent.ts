import { defined } from '#contracts/defined.ts'
import type { Consent } from '../types/oauth.ts'
import { baselineScope } from '#platform/routes/types/scopes.ts'
import { isScope, scopesOfRole } from '../types/scopes.ts'
import type { Scope, Role } from '#contracts/keys.ts'
import type { AuthorizationServer, AuthRequest } from './library.ts'

/** The known scopes among the requested ones; the baseline scope if there is none. */
function askedScopes(requested: readonly string[]): readonly Scope[] {
  const known = [...new Set(requested.filter(isScope))]
  return known.length > 0 ? known : [baselineScope]
}

/** The scopes that were requested, that the user left ticked, and that the role can use. */
export function grantedScopes(
  requested: readonly string[],
  chosen: readonly string[],
  role: Role,
): readonly Scope[] {
  const useful = scopesOfRole(role)
  return askedScopes(requested).filter((scope) => chosen.includes(scope) && useful.includes(scope))
}

/** Begins a page: its content, and the cookies that bind it to this browser. */
export async function beginConsent(
  { api }: AuthorizationServer,
  request: AuthRequest,
  more: Pick<Consent, 'ticked' | 'upstreamHost' | 'upstreamOrigin' | 'problem'>,
): Promise<{ readonly consent: Consent; readonly cookies: readonly string[] }> {
  const about = await api.describeConsent(request)
  const { handle, headers } = await api.beginConsent(request)
  const consent: Consent = {
    clientName: about.clientName,
    ...defined({ clientHost: about.clientDomain }),
    redirectHost: new URL(request.redirectUri).host,
    redirectOrigin: new URL(request.redirectUri).origin,
    isLoopback: about.redirectIsLoopback,
    resource: request.resource ?? '',
    scopes: askedScopes(request.scope),
    handle,
    ...more,
  }
  return { consent, cookies: headers.getSetCookie() }
}
