import { noFields } from '#contracts/api/requests/lists.ts'
import { access, refusesQuery, type HandlersOf, type RoutePath } from './access.ts'
import type { HttpApp, HttpDeps, HttpHandler } from './deps.ts'
import { lazily } from './lazily.ts'
import { addPath, type Methods } from './mount.ts'
import type { Access } from './routes/route.ts'
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
    const methods = Object.entries<HttpHandler>(handlers).map(([method, handler]) => {
      const roles = who[method]
      if (roles === undefined) throw new Error(`${method} ${path} is not in the table of routes.`)
      return [method, { roles, handler }]
    })
    addPath(app, deps, path, Object.fromEntries(methods) as Methods)
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
