import { IsolaError } from '#contracts/errors.ts'
import { scopesFor } from './types/scopes.ts'
import type { Scope } from '#contracts/keys.ts'
import type { HttpHandler, HttpApp, HttpContext, RequestDeps } from './types.ts'
import type { Access, AnyRoute, RouteModule, RouteTable } from './route.ts'
import { clientOf, readTrace } from './headers.ts'
import { errorResponse } from './error-response.ts'
import { lazily } from './lazily.ts'
import { answer } from './answer.ts'
import type { RequestContext } from './request.ts'

/**
 * Without this, work after an answer, or after a closed connection, would be dropped with it. Failures are ignored
 * here.
 */
export function keepAlive(context: HttpContext, work: Promise<unknown>): void {
  const settled = work.catch(() => undefined)
  try {
    context.executionCtx.waitUntil(settled)
  } catch {
    // in tests there is no such context
  }
}

/**
 * Lets a handler answer callers that its route is for; others get `request_forbidden` and learn nothing of what the
 * route
 * has. A token may do less than its principal, never more: without the scope it gets `request_insufficient_scope`, and
 * its client may ask for another.
 */
export function guarded(allowed: Access, handler: HttpHandler): HttpHandler {
  if (allowed === 'anyone') return handler
  return async (context, next) => {
    const { role, token } = context.get('principal')
    const needed = scopesFor(allowed)
    const has = (list: readonly Scope[]) => needed.some((scope) => list.includes(scope))
    if (token ? has(token.scopes) : allowed.includes(role)) return handler(context, next)
    if (!token || !has(token.couldHave)) {
      throw new IsolaError('request_forbidden', `This needs the role ${allowed.join(' or ')}.`)
    }
    // A client asks for this list next: all that it has already, and nothing that it can never get.
    const within = needed.filter((scope) => token.couldHave.includes(scope))
    context.set('neededScopes', [...within.slice(0, 1), ...token.scopes])
    throw new IsolaError(
      'request_insufficient_scope',
      `This needs a token with the scope ${within.join(' or ')}.`,
    )
  }
}

/** The methods of a path: who may use each, and who answers. */
type Methods = Readonly<Record<string, { readonly roles: Access; readonly handler: HttpHandler }>>

/** Adds a path that is for anyone and no part of the API: a page, a sign-in, a file. */
export type AddOpen = (path: string, handlers: Readonly<Record<string, HttpHandler>>) => void

export interface Mount {
  readonly addOpen: AddOpen
  /** Adds the routes of the table, of this kind: for anyone, or for callers with a key. */
  readonly addRoutes: (kind: 'open' | 'guarded') => void
  /** Every path that was added, as the router has it (`/api/sessions/:id`). */
  readonly paths: ReadonlySet<string>
}

/** Adds paths to the app, each with everything it answers. */
export function createMount<Deps extends RequestDeps>(
  app: HttpApp,
  deps: Deps,
  table: RouteTable<Deps>,
): Mount {
  const paths = new Set<string>()
  const add = (path: string, methods: Methods) => {
    paths.add(path)
    addPath(app, deps, path, methods)
  }
  const files = new Map<RouteTable<Deps>[string]['load'], () => Promise<RouteModule<Deps>>>()
  const readerOf = (load: RouteTable<Deps>[string]['load']) => {
    const read = files.get(load) ?? lazily(load)
    files.set(load, read)
    return read
  }
  return {
    paths,
    addOpen: (path, handlers) =>
      add(
        path,
        mapped(handlers, (handler) => ({ roles: 'anyone', handler })),
      ),
    addRoutes(kind) {
      for (const [path, { load, roles: all }] of Object.entries(table)) {
        if (Object.values(all).includes('anyone') !== (kind === 'open')) continue
        // A file with its handlers and schemas is read with the first request that may have an answer, not at each
        // start.
        const read = readerOf(load)
        const toMethod = (roles: Access, method: string) => ({
          roles,
          handler: (async (context) => {
            const route = findRoute((await read()).default, `${method} ${path}`)
            if (route.needsAgents) await deps.refreshAgents?.()
            return answer(route, deps, toRequest(deps, context))
          }) satisfies HttpHandler,
        })
        add(path, mapped(all, toMethod))
      }
    },
  }
}

const mapped = <From, To>(
  all: Readonly<Record<string, From>>,
  to: (one: From, name: string) => To,
): Readonly<Record<string, To>> =>
  Object.fromEntries(Object.entries(all).map(([name, one]) => [name, to(one, name)]))

/** Adds HEAD where there is GET, OPTIONS with what is allowed, and 405 for the rest (a router by itself says 404). */
function addPath(app: HttpApp, deps: RequestDeps, path: string, methods: Methods): void {
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

function findRoute<Deps>(routes: readonly AnyRoute<Deps>[], name: string): AnyRoute<Deps> {
  const found = routes.find((one) => one.name === name)
  if (!found) throw new Error(`${name} is in the table and declared nowhere: npm run generate.`)
  return found
}

/** A request as handlers get it. */
function toRequest(deps: RequestDeps, context: HttpContext): RequestContext {
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
    prove: async () => (await context.get('prove')?.()) ?? caller,
    noteProven: () => context.set('isProven', true),
    needScopes: (scopes) => context.set('neededScopes', scopes),
    noteBegun: (mayHaveBegun) => context.set('mayHaveBegun', mayHaveBegun),
    keepAlive: (work) => keepAlive(context, work),
    refuse: (error, options = {}) => errorResponse(context, error, { deps, ...options }),
  }
}
