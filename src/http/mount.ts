import { IsolaError } from '#contracts/errors.ts'
import { clientOf } from './client.ts'
import type { HttpApp, HttpContext, HttpDeps, HttpHandler } from './deps.ts'
import { readTrace } from './headers.ts'
import { keepAlive } from './keep-alive.ts'
import { lazily } from './lazily.ts'
import { errorResponse } from './responses.ts'
import { answer } from './routes/answer.ts'
import { guarded } from './routes/guard.ts'
import type { RequestContext } from './routes/request.ts'
import type { Access, AnyRoute, RouteModule, RouteTable } from './routes/route.ts'

/** The methods of a path: who may use each, and who answers. */
export type Methods = Readonly<
  Record<string, { readonly roles: Access; readonly handler: HttpHandler }>
>

/**
 * Adds a path with everything it answers: HEAD where there is GET, OPTIONS with what is allowed, and 405 for the rest (a
 * router by itself says 404).
 */
export function addPath(app: HttpApp, deps: HttpDeps, path: string, methods: Methods): void {
  for (const [method, { roles, handler }] of Object.entries(methods))
    app.on(method, path, guarded(roles, handler))
  const allow = [...Object.keys(methods), ...(methods['GET'] ? ['HEAD'] : []), 'OPTIONS'].join(', ')
  app.all(path, (context) => {
    if (context.req.method === 'OPTIONS')
      return new Response(null, { status: 204, headers: { allow } })
    const message = `${context.req.method.slice(0, 20)} is not allowed here. Allowed: ${allow}.`
    const error = new IsolaError('request_method_not_allowed', message)
    return errorResponse(context, error, { deps, headers: { allow } })
  })
}

/**
 * Adds the routes of the table. The files with their handlers and schemas are read with the first request that may have
 * an answer, not at each start.
 */
export function mountRoutes<Deps extends HttpDeps>(
  app: HttpApp,
  deps: Deps,
  table: RouteTable<Deps>,
): void {
  const files = new Map<RouteTable<Deps>[string]['load'], () => Promise<RouteModule<Deps>>>()
  for (const [path, { load, roles: rolesOf }] of Object.entries(table)) {
    const read = files.get(load) ?? lazily(load)
    files.set(load, read)
    const methods = Object.entries(rolesOf).map(([method, roles]) => {
      const handler: HttpHandler = async (context) => {
        const route = findRoute((await read()).default, `${method} ${path}`)
        if (route.needsAgents) await deps.refreshAgents?.()
        return answer(route, deps, toRequest(deps, context))
      }
      return [method, { roles, handler }]
    })
    addPath(app, deps, path, Object.fromEntries(methods) as Methods)
  }
}

function findRoute<Deps>(routes: readonly AnyRoute<Deps>[], name: string): AnyRoute<Deps> {
  const found = routes.find((one) => one.name === name)
  if (!found) throw new Error(`${name} is in the table and declared nowhere: npm run generate.`)
  return found
}

/** A request as handlers get it. */
export function toRequest(deps: HttpDeps, context: HttpContext): RequestContext {
  const caller = context.get('principal')
  const requestId = context.get('requestId')
  const trace = () => readTrace(context, deps.sources)
  return {
    caller,
    requestId,
    raw: context.req.raw,
    params: context.req.param(),
    search: context.req.query(),
    client: clientOf(context),
    trace,
    by: () => ({ principal: caller.id, trace: trace().trace, requestId }),
    needScopes: (scopes) => context.set('neededScopes', scopes),
    noteBegun: (mayHaveBegun) => context.set('mayHaveBegun', mayHaveBegun),
    keepAlive: (work) => keepAlive(context, work),
    refuse: (error, options = {}) => errorResponse(context, error, { deps, ...options }),
  }
}
