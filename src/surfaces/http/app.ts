import { defined } from '#contracts/defined.ts'
import type { MiddlewareHandler, Next } from 'hono'
import { cors } from 'hono/cors'
import { matchedRoutes } from 'hono/route'
import { Hono } from 'hono/tiny'
import { IsolaError } from '#contracts/errors.ts'
import type { RequestClient, Principal } from '#contracts/operations.ts'
import type {
  RequestEntry,
  GuardDeps,
  HttpApp,
  HttpContext,
  HttpEnv,
  HttpHandler,
} from '#platform/routes/types.ts'
import { clientOf } from '#platform/routes/headers.ts'
import { errorResponse } from '#platform/routes/error-response.ts'
import { addFrontRoutes, type FrontDeps } from '#surfaces/console/front.ts'
import { keepAlive, createMount, type Mount } from '#platform/routes/mount.ts'
import { lazily } from '#platform/routes/lazily.ts'
import { allowedHosts } from '#surfaces/mcp/hosts.ts'
import { addOAuthRoutes, type OAuthDeps } from '#surfaces/sign-in/oauth.ts'
import type { RouteTable } from '#platform/routes/route.ts'
import type { AgentSkillDeps } from '#features/skills/routes/agent-skills.ts'

/** The dependencies of the app, besides those of its routes. */
export type AppDeps = GuardDeps & FrontDeps & AgentSkillDeps & OAuthDeps

/**
 * Every HTTP surface of the Worker. Wiring only: surfaces translate, they never decide.
 *
 * @param table Every path of the API (src/routes.gen.ts).
 */
export function createHttpApp<Deps extends AppDeps>(deps: Deps, table: RouteTable<Deps>): HttpApp {
  const app = new Hono<HttpEnv>({ strict: false })
  const mount = createMount(app, deps, table)

  app.onError((error, context) => errorResponse(context, error, { deps }))
  app.notFound((context) => {
    return errorResponse(context, new IsolaError('request_not_found', 'There is no such route.'), {
      deps,
    })
  })
  addRequestId(app, deps, mount.paths)
  addFrontRoutes(app, mount.addOpen, deps)
  addOAuthRoutes(app, mount.addOpen, deps)
  mount.addOpen('/.well-known/agent-skills/:path{.+}', { GET: createLazySkills(deps) })
  // Asked of any host before its user has a key: a 401 would say that there is something to sign in to.
  app.all('/.well-known/*', () => {
    throw new IsolaError('request_not_found', 'There is no such route.')
  })
  mount.addRoutes('open')
  addCors(app)
  addMcpCors(app, deps)
  addGuards(app, deps)
  mount.addRoutes('guarded')
  return app
}

/** Read with the first request for a skill, not at each start. */
function createLazySkills(deps: AgentSkillDeps): HttpHandler {
  const load = lazily(async () =>
    (await import('#features/skills/routes/agent-skills.ts')).createAgentSkills(deps),
  )
  return async (context, next) => (await load())(context, next)
}

/** Also the last net: a thrown value that is no Error passes by the router's own handler. */
function addRequestId(app: HttpApp, deps: GuardDeps, paths: Mount['paths']): void {
  app.use('*', async (context, next) => {
    const { clock, ids } = deps.sources
    const requestId = ids.next('req')
    const startedAtMs = clock.nowMs()
    context.set('requestId', requestId)
    try {
      await next()
    } catch (error) {
      context.res = errorResponse(context, error, { deps })
    }
    const { headers } = context.res
    headers.set('x-request-id', requestId)
    headers.set('x-content-type-options', 'nosniff')
    const exposed = context.get('corsExposed')
    if (exposed !== undefined) {
      headers.set('access-control-allow-origin', '*')
      headers.set('access-control-expose-headers', exposed)
    }
    deps.onRequest?.(entryOf(context, paths, Math.max(0, clock.nowMs() - startedAtMs)))
  })
}

/** The path pattern of the table in place of the address: a client's text in an address must not reach the record. */
function entryOf(context: HttpContext, paths: Mount['paths'], ms: number): RequestEntry {
  const { req, res } = context
  // The first of them answers: `compact` is no id.
  const route = matchedRoutes(context).find(({ path }) => paths.has(path))?.path
  const { requestId, trace, principal }: Partial<HttpEnv['Variables']> = context.var
  return {
    requestId: requestId ?? '',
    method: req.method.slice(0, 20),
    route: route ?? null,
    status: res.status,
    ms,
    ...defined({ trace }),
    ...(principal && { role: principal.role }),
    ...(principal?.key !== undefined && { key: principal.key }),
  }
}

/**
 * Chat clients and programs of `isola/client` in a browser, whatever page they are on; what operators do is none of
 * theirs.
 * A key is sent by the page itself and never by the browser, so no page gains what it did not have. The headers are put
 * on the finished answer: before it there is none, and the
 * router would make one for them and then another.
 */
function addCors(app: HttpApp): void {
  const exposeHeaders = [
    'x-request-id',
    'x-isola-session',
    'x-isola-run',
    'x-isola-trace',
    'retry-after',
    'idempotent-replayed',
    'x-should-retry',
    'www-authenticate',
  ]
  const exposed = exposeHeaders.join(',')
  const answer = cors({ origin: '*', allowMethods, exposeHeaders, maxAge: 86_400 })
  const middleware: MiddlewareHandler<HttpEnv> = async (context, next) => {
    if (isOperatorPath(context.req.path)) return next()
    if (context.req.method === 'OPTIONS')
      return isAnyOtherOptions(context) ? next() : answer(context, next)
    context.set('corsExposed', exposed)
    await next()
  }
  app.use('/v1/*', middleware)
  app.use('/api/*', middleware)
}

const isOperatorPath = (path: string): boolean => path.startsWith('/api/operator/')

const allowMethods = ['GET', 'POST', 'DELETE']

/** An OPTIONS that is no preflight asks what the route allows. */
const isAnyOtherOptions = ({ req }: HttpContext): boolean =>
  req.method === 'OPTIONS' && req.header('access-control-request-method') === undefined

/** MCP clients in a browser, on the pages that may send a request to `/mcp` at all. */
function addMcpCors(app: HttpApp, { hosts = [] }: GuardDeps): void {
  const exposeHeaders = ['x-request-id', 'mcp-session-id', 'retry-after', 'www-authenticate']
  const answer = cors({
    origin: (origin, { req }) => {
      const page = URL.parse(origin)?.hostname ?? ''
      return allowedHosts(new URL(req.url), hosts).includes(page) ? origin : null
    },
    allowMethods,
    exposeHeaders,
    maxAge: 86_400,
  })
  app.use('/mcp', (context, next) => (isAnyOtherOptions(context) ? next() : answer(context, next)))
}

/** Requests that do nothing before a session has them. All others look their key up first. */
const claimable = /^\/(v1\/(chat\/completions|responses)|api\/sessions\/[^/]+\/runs)$/
const isClaimable = ({ method, path }: HttpContext['req']): boolean =>
  method === 'POST' && claimable.test(path)

/**
 * Lets a request on with the caller that this isolate remembers. Its answer leaves when the session has said that the
 * key holds; if no session did, for a refusal too, the key is looked up first (docs/decisions/0115).
 */
async function answerClaimed(
  context: HttpContext,
  next: Next,
  {
    deps,
    claimed,
    client,
  }: { readonly deps: GuardDeps; readonly claimed: Principal; readonly client: RequestClient },
): Promise<void> {
  let proof: Promise<Principal> | undefined
  const prove = () =>
    (proof ??= deps.authenticate(context.req.header('authorization'), client).then((now) => {
      if (reachOf(now) !== reachOf(claimed)) throw changedMeanwhile()
      context.set('isProven', true)
      return now
    }))
  context.set('principal', claimed)
  context.set('prove', prove)
  const go = async () => {
    await deps.limits.request(claimed)
    await deps.refreshAgents?.()
    await next()
  }
  const failed = await go().then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  if (!context.get('isProven')) {
    await prove().catch((error: unknown) => {
      context.res = undefined // the refusal must keep nothing of it
      throw error
    })
  }
  if (failed) throw failed.error
  glance(context, deps)
}

/** Looks whether a schedule is late, behind the answer. */
function glance(context: HttpContext, { schedules }: GuardDeps): void {
  const look = schedules.glance()
  if (look) keepAlive(context, look)
}

/** What decides which agents and models a caller sees. */
const reachOf = ({ id, role, agents, models, persona }: Principal): string =>
  JSON.stringify([id, role, agents, models, persona])

const changedMeanwhile = () =>
  new IsolaError(
    'request_unavailable',
    'The rights of this key were changed just now. Try again.',
    {
      transient: true,
      retryAfterMs: 1_000,
    },
  )

/** Nothing behind these two answers a stranger, not even that a route exists. */
function addGuards(app: HttpApp, deps: GuardDeps): void {
  app.use('*', async (context, next) => {
    // First, since keys live in the database too: without its tables no key could be checked.
    const readiness = await deps.readiness()
    if (readiness.state === 'not_migrated')
      throw new IsolaError('config_not_migrated', readiness.message)
    const { req } = context
    const client = { ...clientOf(context), url: req.url }
    const authorization = req.header('authorization')
    const claimed = isClaimable(req) ? deps.claim?.(authorization) : undefined
    if (claimed) return answerClaimed(context, next, { deps, claimed, client })
    const principal = await deps.authenticate(authorization, client)
    context.set('principal', principal)
    await deps.limits.request(principal)
    // Operators' routes refresh agents themselves, where they read them.
    if (!isOperatorPath(req.path)) await deps.refreshAgents?.()
    await next()
    glance(context, deps)
  })
}
