import { IsolaError } from '#contracts/errors.ts'
import type { HttpApp, HttpDeps, HttpHandler } from './deps.ts'
import { errorResponse } from './responses.ts'

export type Method = 'GET' | 'POST' | 'DELETE'
export type Handlers = Readonly<Partial<Record<Method, HttpHandler>>>
export type AddRoute = (path: string, handlers: Handlers) => void

/**
 * Adds a path with everything it answers: HEAD where there is GET, OPTIONS with what is allowed, and 405 for
 * the rest (a router by itself says 404).
 */
export function createAddRoute(app: HttpApp, deps: HttpDeps): AddRoute {
  return (path, handlers) => {
    for (const [method, handler] of Object.entries(handlers)) app.on(method, path, handler)
    const allow = [...Object.keys(handlers), ...(handlers.GET ? ['HEAD'] : []), 'OPTIONS'].join(
      ', ',
    )
    app.all(path, (context) => {
      if (context.req.method === 'OPTIONS')
        return new Response(null, { status: 204, headers: { allow } })
      const message = `${context.req.method.slice(0, 20)} is not allowed here. Allowed: ${allow}.`
      const error = new IsolaError('request_method_not_allowed', message)
      return errorResponse(context, error, { deps, headers: { allow } })
    })
  }
}
