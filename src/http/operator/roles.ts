import { IsolaError } from '#contracts/errors.ts'
import type { Principal } from '#contracts/operations.ts'
import type { HttpContext, HttpHandler } from '../deps.ts'

/**
 * Lets a handler answer those with one of these roles; the others get `request_forbidden`, before their request is
 * looked at, so that they learn nothing of what is there.
 */
export function forRoles(
  roles: readonly Principal['role'][],
  handler: (context: HttpContext) => Promise<Response>,
): HttpHandler {
  return async (context) => {
    if (!roles.includes(context.get('principal').role)) {
      const message = `This needs the role ${roles.join(' or ')}.`
      throw new IsolaError('request_forbidden', message)
    }
    return handler(context)
  }
}
