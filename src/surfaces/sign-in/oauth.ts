import { headOf } from '#contracts/cut.ts'
import {
  type Consent,
  notOurHost,
  resourcePaths,
  type AuthorizationStep,
  type ConsentForm,
  type OAuthService,
} from '#features/access/types/oauth.ts'
import type { Scope } from '#contracts/keys.ts'
import { escape, htmlResponse, toHtml } from '#platform/routes/html.ts'
import { errorCode, IsolaError } from '#contracts/errors.ts'
import type { RequestClient } from '#contracts/operations.ts'
import { readForm, withSmallBody } from '#platform/routes/body.ts'
import { clientOf } from '#platform/routes/headers.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import type { AddOpen } from '#platform/routes/mount.ts'
import type { GuardDeps, HttpApp, HttpContext, HttpHandler } from '#platform/routes/types.ts'

const meanings: Readonly<Record<Scope, string>> = {
  agents: 'Talk to agents in your name: their answers, their tools, and what they cost.',
  approve:
    'Say yes in your name to calls that wait for you, also to those that it asked for itself.',
  'audit:read': 'Read every session, the record, health and spending of this deployment.',
  'plugins:install': 'Add plugins to this deployment. It enables none of them.',
  operator: 'Do everything an operator does: keys, secrets, plugins, policy.',
}

/** A page of the sign-in as it goes out. */
export const pageResponse = (
  html: string,
  options: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly cookies?: readonly string[]
    /** Where the form's answer may lead besides to https. */
    readonly formTargets?: readonly string[]
  },
): Promise<Response> => {
  const { formTargets = [], ...rest } = options
  // A browser asks this of each redirect after the form as well, and those are the client's.
  const policy = [`form-action ${["'self'", 'https:', ...formTargets].join(' ')}`]
  return htmlResponse(html, { ...rest, policy })
}

/** Names the client, the destination of the answer, and the permissions; a person signs in and decides. */
export function consentPage(consent: Consent): string {
  const { clientName, clientHost, redirectHost, isLoopback, problem, upstreamHost } = consent
  const name = quotable(clientName)
  const origin =
    clientHost === undefined
      ? 'It registered itself: nobody vouches for this name.'
      : `It is described by <span class="host">${escape(clientHost)}</span>.`
  return toHtml(
    `Allow “${name}”?`,
    `<h1>Allow “<span class="name">${name}</span>” to use this Isola deployment?</h1>
${problem ? `<p class="note bad" role="alert">${escape(problem.message)}</p>` : ''}
<p>${origin} Access goes to <span class="host">${escape(redirectHost)}</span>, for <span class="name">${escape(consent.resource)}</span>.</p>
${
  isLoopback
    ? '<p class="note">That is a program on your own computer. Go on only if you just started to sign in ' +
      'from it.</p>'
    : ''
}
<form method="post" autocomplete="off">
<input type="hidden" name="handle" value="${escape(consent.handle)}">
<fieldset><legend>It will be able to do what you tick</legend>${consent.scopes.map((scope) => scopeRow(scope, consent)).join('')}</fieldset>
<label for="key">Your Isola key</label>
<input type="password" id="key" name="key" maxlength="500" autocomplete="off" spellcheck="false">
<button class="go" name="decision" value="key">Allow</button>
${
  upstreamHost === undefined
    ? ''
    : '<button name="decision" value="upstream">Allow and sign in with ' +
      `${escape(upstreamHost)}</button>`
}
<button name="decision" value="deny">Deny</button>
</form>`,
  )
}

/** The page of a sign-in that cannot go on; the message is escaped. */
export function refusalPage(message: string): string {
  return toHtml(
    'Sign-in refused',
    `<h1>This sign-in cannot go on</h1><p class="name">${escape(message)}</p>`,
  )
}

function scopeRow(scope: Scope, { ticked }: Consent): string {
  const checked = ticked.includes(scope) ? ' checked' : ''
  return (
    `<label><input type="checkbox" name="scope" value="${scope}"${checked}> ` +
    `${scope}<small>${meanings[scope]}</small></label>`
  )
}

const maxNameChars = 100

/** A name inside quotes, which cannot close them: the text after it would read as ours. */
function quotable(name: string): string {
  const short = name.length > maxNameChars ? `${headOf(name, maxNameChars)}…` : name
  return escape(short.replace(/["“”„‟«»＂]/g, "'"))
}

/** The dependencies of the sign-in; `oauth` is absent where the platform lacks what it needs. */
export interface OAuthDeps {
  readonly oauth?: OAuthService
  readonly readiness: GuardDeps['readiness']
}

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
    // Hono's own type lacks what the platform added.
    const about = { client: clientOf(context), context: context.executionCtx as ExecutionContext }
    const answer = await oauth.protocol(request, about)
    if (answer) return answer
    throw notHere()
  }
}

async function decide(
  oauth: OAuthService,
  { req }: HttpContext,
  client: RequestClient,
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
  step: (
    oauth: OAuthService,
    context: HttpContext,
    client: RequestClient,
  ) => Promise<AuthorizationStep>,
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
