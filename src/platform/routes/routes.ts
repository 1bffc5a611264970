import { noFields } from '#contracts/routes/request-lists.ts'
import { IsolaError } from '#contracts/errors.ts'
import {
  access,
  guarded,
  refusesQuery,
  type Access,
  type HandlersOf,
  type RoutePath,
} from './access.ts'
import type { HttpApp, HttpDeps, HttpHandler } from './deps.ts'
import { errorResponse } from './responses.ts'
import { lazily } from './lazily.ts'
import { parseFields } from './validate.ts'

/** Adds one path of the table; a handler is needed for exactly its methods. */
export type AddRoute = <Path extends RoutePath>(path: Path, handlers: HandlersOf<Path>) => void

/**
 * Adds a path of the table with everything it answers: HEAD where there is GET, OPTIONS with what is allowed, and 405
 * for the rest (a router by itself says 404).
 */
export function createAddRoute(app: HttpApp, deps: HttpDeps): AddRoute {
  return (path, handlers) => {
    const who: Readonly<Record<string, Access>> = access[path] ?? {}
    const all: Readonly<Record<string, HttpHandler>> = handlers
    for (const [method, handler] of Object.entries(all)) {
      const allowed = who[method]
      if (allowed === undefined) throw new Error(`${method} ${path} is not in the table of routes.`)
      app.on(method, path, guarded(allowed, handler))
    }
    const allow = [...Object.keys(all), ...(all['GET'] ? ['HEAD'] : []), 'OPTIONS'].join(', ')
    app.all(path, (context) => {
      if (context.req.method === 'OPTIONS')
        return new Response(null, { status: 204, headers: { allow } })
      const message = `${context.req.method.slice(0, 20)} is not allowed here. Allowed: ${allow}.`
      const error = new IsolaError('request_method_not_allowed', message)
      return errorResponse(context, error, { deps, headers: { allow } })
    })
  }
}

/** What adds some paths of the table. */
type AddRoutes = (addRoute: AddRoute, deps: HttpDeps) => void

/**
 * Adds every path of the table that begins with `prefix`, or is all of it. Who answers is read, schemas and all, with
 * the first request that may have an answer, not at each start.
 */
export function createAddLater(addRoute: AddRoute, deps: HttpDeps) {
  return (prefix: string, load: () => Promise<AddRoutes>): void => {
    const read = lazily(async () => {
      const handlers = new Map<string, Readonly<Record<string, HttpHandler>>>()
      const add = await load()
      add((path, handlersOf) => void handlers.set(path, handlersOf), deps)
      return handlers
    })
    for (const [path, methods] of Object.entries(access)) {
      if (path !== prefix && !path.startsWith(`${prefix}/`)) continue
      const handlerOf =
        (method: string): HttpHandler =>
        async (context, next) => {
          const handler = (await read()).get(path)?.[method]
          if (!handler) throw new Error(`${method} ${path} has nobody to answer it.`)
          if (refusesQuery(method, path)) parseFields(noFields, context.req.query())
          return handler(context, next)
        }
      const handlers = Object.keys(methods).map((method) => [method, handlerOf(method)])
      // Its keys are those of the table.
      addRoute(path as RoutePath, Object.fromEntries(handlers) as HandlersOf<RoutePath>)
    }
  }
}
