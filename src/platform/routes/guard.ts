import { IsolaError } from '#contracts/errors.ts'
import { scopesFor } from './types/scopes.ts'
import { type Scope } from '#contracts/scopes.ts'
import type { HttpHandler } from './types.ts'
import type { Access } from './route.ts'

/**
 * Lets a handler answer callers that its route is for; others get `request_forbidden` and learn nothing of what the route
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
      const message = `This needs the role ${allowed.join(' or ')}.`
      throw new IsolaError('request_forbidden', message)
    }
    // A client asks for this list next: all that it has already, and nothing that it can never get.
    const within = needed.filter((scope) => token.couldHave.includes(scope))
    context.set('neededScopes', [...within.slice(0, 1), ...token.scopes])
    const message = `This needs a token with the scope ${within.join(' or ')}.`
    throw new IsolaError('request_insufficient_scope', message)
  }
}
