import { errorCode, IsolaError } from '#contracts/errors.ts'
import {
  notOurHost,
  resourcePaths,
  type AuthorizationStep,
  type Consent,
  type ConsentForm,
  type OAuthService,
} from '#features/access/types/oauth.ts'
import type { Client } from '#contracts/operations.ts'
import { readForm, withSmallBody } from '#platform/routes/body.ts'
import { clientOf } from '#platform/routes/client.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import type { AddOpen } from '#platform/routes/mount.ts'
import type { GuardDeps, HttpApp, HttpContext, HttpHandler } from '#platform/routes/types.ts'
import { consentPage, pageResponse, refusalPage } from './page.ts'

type OAuthDeps = Pick<GuardDeps, 'oauth' | 'readiness'>

/**
 * The authorization server: the endpoints for clients, and the page where a person decides. No route of it needs a
 * credential.
 */
export function addOAuthRoutes(app: HttpApp, add: AddOpen, deps: OAuthDeps): void {
  const protocol = createProtocol(deps)
  const documents = resourcePaths.map(
    (path) => `/.well-known/oauth-protected-resource${path}` as const,
  )
  const asked = ['/.well-known/oauth-authorization-server', ...documents] as const
  for (const path of [...asked, '/oauth/token', '/oauth/register']) {
    // A page of the client's may ask from its browser: the library says which.
    app.use(path, (context, next) =>
      context.req.method === 'OPTIONS' ? protocol(context) : next(),
    )
  }
  for (const path of asked) add(path, { GET: protocol })
  add('/oauth/token', { POST: protocol })
  add('/oauth/register', { POST: protocol })
  add('/authorize', {
    GET: page(deps, (oauth, { req }, client) => oauth.authorize(req.raw, client)),
    POST: page(deps, decide),
  })
  add('/oauth/callback', {
    GET: page(deps, (oauth, { req }, client) => oauth.finishUpstream(req.raw, client)),
  })
}

function createProtocol(deps: OAuthDeps): (context: HttpContext) => Promise<Response> {
  return async (context) => {
    const oauth = await ready(deps)
    const request = await withSmallBody(context.req.raw)
    const about = { client: clientOf(context), context: context.executionCtx as ExecutionContext } // Hono's own type lacks what the platform added
    const answer = await oauth.protocol(request, about)
    if (answer) return answer
    throw notHere()
  }
}

async function decide(
  oauth: OAuthService,
  { req }: HttpContext,
  client: Client,
): Promise<AuthorizationStep> {
  const form = await readForm(req.raw)
  const decision = form.get('decision')
  const choice: ConsentForm = {
    // Any value other than an approval is a denial.
    decision: decision === 'key' || decision === 'upstream' ? decision : 'deny',
    handle: form.get('handle') ?? '',
    key: form.get('key') ?? '',
    scopes: form.getAll('scope'),
  }
  return oauth.decide(req.raw, choice, client)
}

/** A step as the browser gets it. Errors are pages too, but for faults of ours. */
function page(
  deps: OAuthDeps,
  step: (oauth: OAuthService, context: HttpContext, client: Client) => Promise<AuthorizationStep>,
): HttpHandler {
  return async (context) => {
    try {
      return await toResponse(await step(await ready(deps), context, clientOf(context)), context)
    } catch (error) {
      if (errorCode(error) === undefined || error === notThere) throw error
      const { status, headers, body } = toOutgoingError(error, context.get('requestId'))
      return pageResponse(refusalPage(body.error.message), { status, headers })
    }
  }
}

async function toResponse(step: AuthorizationStep, { req }: HttpContext): Promise<Response> {
  switch (step.kind) {
    case 'ask': {
      const { consent, cookies } = step
      return pageResponse(consentPage(consent), {
        status: consent.problem?.status ?? 200,
        cookies,
        formTargets: formTargets(consent),
      })
    }
    case 'redirect': {
      const headers = new Headers({
        location: step.to,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      for (const cookie of step.cookies) headers.append('set-cookie', cookie)
      // 303 after a form, so that the browser does not post its fields on to the next address.
      return new Response(null, { status: req.method === 'POST' ? 303 : 302, headers })
    }
    case 'refuse':
      return pageResponse(refusalPage(step.message), { status: step.status })
  }
}

/** Only the user's own machine may be asked over http: by the client, or by a provider that the settings name. */
export function formTargets({
  isLoopback,
  redirectOrigin,
  upstreamOrigin,
}: Pick<Consent, 'isLoopback' | 'redirectOrigin' | 'upstreamOrigin'>): readonly string[] {
  const isPlain = upstreamOrigin?.startsWith('http:')
  return [...(isLoopback ? [redirectOrigin] : []), ...(isPlain ? [upstreamOrigin ?? ''] : [])]
}

const notThere = new IsolaError('request_not_found', 'There is no such route.')

function notHere(): IsolaError {
  return new IsolaError('request_not_found', notOurHost)
}

async function ready({ oauth, readiness }: OAuthDeps): Promise<OAuthService> {
  if (!oauth) throw notThere
  const state = await readiness()
  if (state.state === 'not_migrated') throw new IsolaError('config_not_migrated', state.message)
  return oauth
}
