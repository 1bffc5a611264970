import { errorCode, errorMessage } from '#contracts/errors.ts'
import {
  notOurHost,
  type AuthorizationStep,
  type Consent,
  type ConsentForm,
  type OAuthService,
} from '../types/oauth.ts'
import type { Authenticate } from '#platform/routes/types.ts'
import type { RequestClient, Principal } from '#contracts/operations.ts'
import { baselineScope } from '#platform/routes/types/scopes.ts'
import { isScope } from '../types/scopes.ts'
import { beginConsent } from './consent.ts'
import type { Identity } from './identity.ts'
import {
  authorizationErrorRedirect,
  toRefusal,
  type AuthorizationServer,
  type Library,
} from './library.ts'
import type { Limit } from './limit.ts'
import type { Upstream } from './oidc/upstream.ts'
import { isFromOurPage, type OriginOf } from './origins.ts'
import type { SignIns } from './sign-in.ts'

/** Dependencies of the sign-in's pages and forms. */
interface AuthorizationOptions {
  readonly originOf: OriginOf
  readonly library: Library
  readonly identity: Identity
  readonly signIns: SignIns
  /** Accepts keys alone. */
  readonly authenticate: Authenticate
  readonly upstream?: Upstream | undefined
  readonly limit: Limit
}

/** Kept with the sign-in's state while the user is at the upstream provider. */
interface Away {
  readonly chosen: readonly string[]
  readonly verifier: string
  readonly nonce: string
}

interface Decision {
  readonly request: Request
  readonly form: ConsentForm
  readonly client: RequestClient
}

/** The steps of the consent page. */
export function createAuthorization(
  options: AuthorizationOptions,
): Pick<OAuthService, 'authorize' | 'decide' | 'finishUpstream'> {
  const { originOf, library, limit } = options

  /**
   * Runs a step at one of the deployment's own hosts. A refusal of the library becomes a redirect or a page; any
   * other error is a bug and is thrown on.
   */
  const atOurs = async (
    request: Request,
    work: (server: AuthorizationServer, origin: string) => Promise<AuthorizationStep>,
  ): Promise<AuthorizationStep> => {
    const origin = originOf(request.url)
    if (origin === undefined) return stop(404, notOurHost)
    try {
      return await work(library(origin), origin)
    } catch (error) {
      const known = toRefusal(error)
      if (known && 'to' in known) return { kind: 'redirect', to: known.to, cookies: [] }
      if (known) return stop(400, known.message)
      if (errorCode(error) === 'request_conflict') return stop(400, errorMessage(error))
      throw error
    }
  }
  return {
    authorize: (request, client) =>
      atOurs(request, async (server) => {
        await limit('pages', client)
        return ask(options, server, request.url)
      }),
    decide: (request, form, client) =>
      atOurs(request, async (server, origin) => {
        if (!isFromOurPage(request.headers, origin))
          return stop(403, 'This form was sent from another page. Start again.')
        await limit('answers', client)
        const decision = { request, form, client }
        switch (form.decision) {
          case 'key':
            return withKey(options, server, decision)
          case 'upstream':
            return toUpstream(options, server, decision)
          case 'deny': {
            const denied = await server.api.denyConsent(request, form.handle)
            const cookies = denied.headers.getSetCookie()
            return options.signIns.refuse(denied.request, cookies, { reason: 'denied', client })
          }
        }
      }),
    finishUpstream: (request, client) =>
      atOurs(request, (server, origin) =>
        fromUpstream(options, server, { request, client, origin }),
      ),
  }
}

async function ask(
  { upstream }: AuthorizationOptions,
  server: AuthorizationServer,
  url: string,
  /** The form of the page before, with the reason to show it again. */
  before?: { readonly problem: Consent['problem']; readonly form: ConsentForm },
): Promise<AuthorizationStep> {
  const request = await server.api.parseAuthRequest(new Request(url))
  // OAuth 2.1 requires PKCE of every client, the library only of clients without a secret.
  if (request.codeChallenge === undefined) {
    const to = authorizationErrorRedirect(request, 'invalid_request', 'PKCE with S256 is needed')
    return { kind: 'redirect', to, cookies: [] }
  }
  const other = upstream && { upstreamHost: upstream.host, upstreamOrigin: upstream.origin }
  // Only the baseline scope is ticked: one click must not hand an operator's rights to a client.
  const ticked = before ? before.form.scopes.filter(isScope) : [baselineScope]
  const more = { ...other, ticked, ...(before?.problem && { problem: before.problem }) }
  return { kind: 'ask', ...(await beginConsent(server, request, more)) }
}

async function withKey(
  options: AuthorizationOptions,
  server: AuthorizationServer,
  { request, form, client }: Decision,
): Promise<AuthorizationStep> {
  const { authenticate, identity, signIns } = options
  let principal: Principal
  try {
    principal = await authenticate(`Bearer ${form.key.trim()}`, client)
  } catch (error) {
    const problem = problemOf(error)
    if (!problem) throw error
    return ask(options, server, request.url, { problem, form })
  }
  const approved = await server.api.approveConsent(request, form.handle)
  return signIns.complete(server, {
    request: approved.request,
    principal,
    by: identity.proofOf(principal),
    chosen: form.scopes,
    handle: form.handle,
    cookies: approved.headers.getSetCookie(),
    client,
  })
}

async function toUpstream(
  options: AuthorizationOptions,
  server: AuthorizationServer,
  { request, form }: Decision,
): Promise<AuthorizationStep> {
  const { upstream } = options
  if (!upstream) return stop(400, noUpstream)
  const secrets = upstream.prepare()
  const { origin } = new URL(request.url)
  // Checked first: only a browser that was shown a page may make this deployment call the provider.
  const { headers, request: approved } = await server.api.approveConsent(request, form.handle)
  const signInUrl = await upstream.begin({ ...secrets, origin })
  if (signInUrl === undefined) return ask(options, server, request.url, { problem: isAway, form })
  const data: Away = { ...secrets, chosen: form.scopes.filter(isScope) }
  const away = await server.api.beginUpstream(approved, { data, headers })
  return { kind: 'redirect', to: signInUrl(away.state), cookies: away.headers.getSetCookie() }
}

async function fromUpstream(
  { upstream, identity, signIns }: AuthorizationOptions,
  server: AuthorizationServer,
  at: { readonly request: Request; readonly client: RequestClient; readonly origin: string },
): Promise<AuthorizationStep> {
  if (!upstream) return stop(404, noUpstream)
  const { client, origin } = at
  const { request, data, headers } = await server.api.finishUpstream<Away>(at.request)
  const cookies = headers.getSetCookie()
  const { searchParams: answer } = new URL(at.request.url)
  const { chosen, ...secrets } = data
  const found = await upstream.finish({ ...secrets, answer, origin })
  if (!found.ok) {
    const message = 'The sign-in at the other provider did not succeed'
    return signIns.refuse(request, cookies, { reason: found.reason, client, message })
  }
  const by = { kind: 'person', ...found.person } as const
  const principal = await identity.holderOf(by)
  if (!principal) {
    const who = by.email ?? by.subject
    const message = 'Whoever signed in is not among those who may use this deployment'
    return signIns.refuse(request, cookies, { reason: 'unknown_person', client, who, message })
  }
  const handle = answer.get('state') ?? ''
  return signIns.complete(server, { request, principal, by, chosen, handle, cookies, client })
}

const isAway = { status: 502, message: 'The other provider cannot be reached. Try again.' }
const noUpstream = 'There is no other provider to sign in with.'

function stop(status: number, message: string): AuthorizationStep {
  return { kind: 'refuse', status, message }
}

/** What the page says of a refused key; `undefined` for an error that has nothing to do with the key. */
function problemOf(error: unknown): Consent['problem'] | undefined {
  const code = errorCode(error)
  if (code === 'request_unauthenticated') return { status: 401, message: 'This key is not valid.' }
  return code === 'request_login_limited'
    ? { status: 429, message: errorMessage(error) }
    : undefined
}
