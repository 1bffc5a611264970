import { headOf } from '#contracts/cut.ts'
import {
  deploymentEvent,
  type DeploymentEvent,
  type DeploymentEventData,
  type DeploymentEventType,
} from '#contracts/event.ts'
import type { OAuthGrant, AuthorizationStep, GrantStore } from '../types/oauth.ts'
import type { RequestClient, Principal } from '#contracts/operations.ts'
import type { Sources } from '#contracts/sources.ts'
import { grantedScopes } from './consent.ts'
import {
  authorizationErrorRedirect,
  offlineScope,
  refreshTokenSeconds,
  type AuthorizationServer,
  type AuthRequest,
} from './library.ts'
import { signedInWith, type Proof } from './proof.ts'
import type { StrangersLog } from './strangers-log.ts'

/** An event of a sign-in for the record: without token, code or key. */
export function eventOf<Type extends Extract<DeploymentEventType, `oauth_${string}`>>(
  type: Type,
  at: { readonly principal?: string; readonly nowMs: number; readonly client?: RequestClient },
  data: DeploymentEventData<Type>,
): DeploymentEvent {
  const { principal = '', nowMs: atMs, client } = at
  const request = client?.requestId === undefined ? {} : { request: client.requestId }
  return deploymentEvent(type, { principal, trace: '', atMs }, { ...data, ...request })
}

/** Shortens a text that a client chose about itself, before it goes on the record. */
export const short = (text: string): string => headOf(text, 200)

/** A grant for the record: names are shortened, tokens are left out. */
function grantData(grant: OAuthGrant): DeploymentEventData<'oauth_granted'> {
  const { id, client, clientName, redirectUri, resource, scopes, signedInWith } = grant
  return {
    grant: id,
    client: short(client),
    clientName: short(clientName),
    redirectUri: short(redirectUri),
    resource,
    scopes: [...scopes],
    signedInWith,
  }
}

/** The principal that signed in, its proof, and the scopes it allowed. */
interface SignIn {
  readonly request: AuthRequest
  readonly principal: Principal
  readonly by: Proof['by']
  /** The scopes that the user left ticked. */
  readonly chosen: readonly string[]
  /** Good for one grant, even if KV still shows it. */
  readonly handle: string
  readonly cookies: readonly string[]
  readonly client: RequestClient
}

/** Why the client gets no grant. `message` goes to the client, the rest on the record. */
interface Refusal {
  readonly reason: string
  readonly client: RequestClient
  readonly who?: string
  readonly message?: string
}

/** Ends a consent page, once: with a grant or a refusal. */
export type SignIns = ReturnType<typeof createSignIns>

/** The end of every sign-in: a grant in the table and a code for the client, or an error for it. */
export function createSignIns({
  grants,
  record,
  clock,
  sha256,
}: Pick<Sources, 'sha256' | 'clock'> & {
  readonly grants: GrantStore
  readonly record: StrangersLog
}) {
  const refuse = async (
    request: AuthRequest,
    cookies: readonly string[],
    { reason, client, who, message }: Refusal,
  ): Promise<AuthorizationStep> => {
    const data = {
      reason,
      client: short(request.clientId),
      redirectUri: short(request.redirectUri),
      ...(who !== undefined && { who: short(who) }),
    }
    await record(eventOf('oauth_refused', { nowMs: clock.nowMs(), client }, data), client)
    const to = authorizationErrorRedirect(request, 'access_denied', message)
    return { kind: 'redirect', to, cookies }
  }
  return {
    refuse,
    /** Throws `request_conflict` for a page that was used before. */
    async complete({ api }: AuthorizationServer, signIn: SignIn): Promise<AuthorizationStep> {
      const { request, principal, by, chosen, handle, cookies, client } = signIn
      const scopes = grantedScopes(request.scope, chosen, principal.role)
      if (scopes.length === 0) {
        const message = `Nothing was allowed that the role ${principal.role} may`
        return refuse(request, cookies, { reason: 'no_scope', client, who: principal.id, message })
      }
      const proof: Proof = { grant: `grant_${sha256(`oauth-grant:${handle}`).slice(0, 22)}`, by }
      const { clientName } = await api.describeConsent(request)
      const nowMs = clock.nowMs()
      const grant = toGrant(request, { proof, principal, clientName, scopes, nowMs })
      const event = eventOf(
        'oauth_granted',
        { principal: principal.id, nowMs, client },
        grantData(grant),
      )
      await grants.add(grant, event)
      const { redirectTo } = await api.completeAuthorization({
        request,
        // A colon in the principal's name would split the token in the wrong place.
        userId: encodeURIComponent(principal.id),
        metadata: {},
        scope: [...scopes, ...request.scope.filter((scope) => scope === offlineScope)],
        props: proof,
      })
      return { kind: 'redirect', to: redirectTo, cookies }
    },
  }
}

function toGrant(
  request: AuthRequest,
  about: Pick<OAuthGrant, 'clientName' | 'scopes'> & {
    readonly proof: Proof
    readonly principal: Principal
    readonly nowMs: number
  },
): OAuthGrant {
  const { proof, principal, clientName, scopes, nowMs } = about
  return {
    id: proof.grant,
    principal: principal.id,
    client: request.clientId,
    clientName: short(clientName),
    redirectUri: request.redirectUri,
    resource: request.resource ?? '',
    scopes,
    signedInWith: signedInWith(proof),
    createdAtMs: nowMs,
    expiresAtMs: nowMs + refreshTokenSeconds * 1_000,
  }
}
