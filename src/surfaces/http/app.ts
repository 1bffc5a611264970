import type { MiddlewareHandler } from 'hono'
import { cors } from 'hono/cors'
import { matchedRoutes } from 'hono/route'
import { Hono } from 'hono/tiny'
import { IsolaError } from '#contracts/errors.ts'
import type { RequestEntry } from '#runtime/session/types/telemetry.ts'
import { access } from '#platform/routes/access.ts'
import type { HttpApp, HttpContext, HttpDeps, HttpEnv, HttpHandler } from '#platform/routes/deps.ts'
import { addFrontRoutes } from '#surfaces/console/front.ts'
import { keepAlive } from '#platform/routes/keep-alive.ts'
import { lazily } from '#platform/routes/lazily.ts'
import { allowedHosts } from '#surfaces/mcp/hosts.ts'
import { createListModels, createShowModel } from '#surfaces/openai/models.ts'
import { addOAuthRoutes, clientOf } from '#surfaces/sign-in/oauth.ts'
import { finishMcpLogin, showMcpClient } from '#features/mcp-servers/routes/mcp-login.ts'
import { errorResponse, jsonResponse } from '#platform/routes/responses.ts'
import { createAddLater, createAddRoute } from '#platform/routes/routes.ts'

/** Every HTTP surface of the Worker. Wiring only: surfaces translate, they never decide. */
export function createHttpApp(deps: HttpDeps): HttpApp {
  const app = new Hono<HttpEnv>({ strict: false })
  const addRoute = createAddRoute(app, deps)
  const addLater = createAddLater(addRoute, deps)

  app.onError((error, context) => errorResponse(context, error, { deps }))
  app.notFound((context) => {
    return errorResponse(context, new IsolaError('request_not_found', 'There is no such route.'), {
      deps,
    })
  })
  addRequestId(app, deps)
  addFrontRoutes(app, addRoute, deps)
  addRoute('/healthz', { GET: () => jsonResponse({ status: 'ok' }) })
  addOAuthRoutes(app, addRoute, deps)
  addLater(
    '/.well-known/agent-skills',
    async () => (await import('#surfaces/mcp/agent-skills.ts')).addAgentSkillRoutes,
  )
  // What is asked of a host before anybody has a key: a 401 would say that there is something to sign in to.
  app.all('/.well-known/*', () => {
    throw new IsolaError('request_not_found', 'There is no such route.')
  })
  addRoute('/mcp/callback', { GET: finishMcpLogin(deps) })
  addRoute('/mcp/client.json', { GET: showMcpClient(deps) })
  addCors(app)
  addMcpCors(app, deps)
  addGuards(app, deps)

  addLater(
    '/v1/chat/completions',
    async () => (await import('#surfaces/openai/chat-completions.ts')).addChatRoute,
  )
  addLater(
    '/v1/responses',
    async () => (await import('#surfaces/openai/responses/routes.ts')).addResponseRoutes,
  )
  addLater(
    '/v1/conversations',
    async () => (await import('#surfaces/openai/responses/conversations.ts')).addConversationRoutes,
  )
  addRoute('/v1/models', { GET: createListModels(deps) })
  addRoute('/v1/models/:id{.+}', { GET: createShowModel(deps) })
  const mcp = createLazyMcp(deps)
  addRoute('/mcp', { GET: mcp, POST: mcp, DELETE: mcp })
  addLater('/api/openapi.json', async () => (await import('./openapi/openapi.ts')).addOpenApiRoute)
  addLater(
    '/api/approval-rules',
    async () =>
      (await import('#features/approvals/routes/approval-rules.ts')).addApprovalRuleRoutes,
  )
  addLater(
    '/api/agents',
    async () => (await import('#features/agents/routes/agents.ts')).addAgentRoutes,
  )
  addLater(
    '/api/knowledge',
    async () => (await import('#features/memory/routes/knowledge.ts')).addKnowledgeRoutes,
  )
  addLater(
    '/api/memory',
    async () => (await import('#features/memory/routes/memory.ts')).addMemoryRoutes,
  )
  const erasures = () => import('#features/record/routes/erasures.ts')
  addLater('/api/erasure', async () => (await erasures()).addOwnErasureRoute)
  addLater(
    '/api/usage',
    async () => (await import('#features/record/routes/usage.ts')).addOwnUsageRoute,
  )
  addLater(
    '/api/personas',
    async () => (await import('#features/skills/routes/personas.ts')).addPersonaRoute,
  )
  const schedules = () => import('#features/schedules/routes/schedules.ts')
  addLater('/api/schedules', async () => (await schedules()).addScheduleRoutes)
  addLater(
    '/api/subscriptions',
    async () => (await import('#features/schedules/routes/subscriptions.ts')).addSubscriptionRoutes,
  )
  addLater('/api/notices', async () => (await schedules()).addNoticeRoutes)
  addLater('/api/settings', async () => (await schedules()).addSettingsRoutes)
  addLater(
    '/api/mcp',
    async () =>
      (await import('#features/mcp-servers/routes/own-mcp-logins.ts')).addOwnMcpLoginRoutes,
  )
  addLater(
    '/api/status',
    async () => (await import('#features/record/routes/status.ts')).addStatusRoute,
  )
  addLater(
    '/api/runs',
    async () => (await import('#surfaces/sessions/list-runs.ts')).addRunListRoute,
  )
  addLater(
    '/api/sessions',
    async () => (await import('#surfaces/sessions/sessions.ts')).addSessionRoutes,
  )
  addLater('/api/operator', async () => (await import('./operator.ts')).addOperatorRoutes)
  return app
}

/** Its libraries are read with the first request that speaks MCP, not at each start. */
function createLazyMcp(deps: HttpDeps): HttpHandler {
  const load = lazily<HttpHandler>(async () =>
    (await import('#surfaces/mcp/mcp.ts')).createMcp(deps),
  )
  return async (context, next) => (await load())(context, next)
}

/** Also the last net: what is thrown and is no Error passes the router's own handler by. */
function addRequestId(app: HttpApp, deps: HttpDeps): void {
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
    deps.onRequest?.(entryOf(context, Math.max(0, clock.nowMs() - startedAtMs)))
  })
}

/** The route as it is in the table: an address may hold what somebody wrote. */
function entryOf(context: HttpContext, ms: number): RequestEntry {
  const { req, res } = context
  // The first of them answers: `compact` is no id.
  const route = matchedRoutes(context).find(({ path }) => Object.hasOwn(access, path))?.path
  const { requestId, trace, principal }: Partial<HttpEnv['Variables']> = context.var
  return {
    requestId: requestId ?? '',
    method: req.method.slice(0, 20),
    route: route ?? null,
    status: res.status,
    ms,
    ...(trace !== undefined && { trace }),
    ...(principal && { role: principal.role }),
    ...(principal?.key !== undefined && { key: principal.key }),
  }
}

/**
 * Chat clients and programs of `isola/client` in a browser, whatever page they are on; what operators do is none of theirs.
 * A key is sent by the page itself and never by the browser, so no page gains what it did not have. The headers are put on the finished answer: before it there is none, and the
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
function addMcpCors(app: HttpApp, { hosts = [] }: HttpDeps): void {
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

/** Nothing behind these two answers a stranger, not even that a route exists. */
function addGuards(app: HttpApp, deps: HttpDeps): void {
  app.use('*', async (context, next) => {
    // First, since keys live in the database too: without its tables no key could be checked.
    const readiness = await deps.readiness()
    if (readiness.state === 'not_migrated')
      throw new IsolaError('config_not_migrated', readiness.message)
    const { req } = context
    const client = { ...clientOf(context), url: req.url }
    const principal = await deps.authenticate(req.header('authorization'), client)
    context.set('principal', principal)
    await deps.limits.request(principal)
    // What an operator does asks for that itself, where it looks at agents.
    if (!isOperatorPath(req.path)) await deps.refreshAgents?.()
    await next()
    const look = deps.schedules.glance()
    if (look) keepAlive(context, look)
  })
}
