import { baselineScope } from './types/scopes.ts'
import type { HttpContext, RequestDeps } from './types.ts'

/** Where a client gets the token it needs (RFC 6750, RFC 9728), at the addresses where tokens are taken. */
export function challenge(
  context: HttpContext,
  status: number,
  { oauth }: Pick<RequestDeps, 'oauth'>,
): Readonly<Record<string, string>> {
  const { req } = context
  const needed = status === 403 ? context.get('neededScopes') : undefined
  if (status !== 401 && !needed) return {}
  const shown = req.header('authorization') === undefined ? {} : { error: 'invalid_token' }
  const about = needed
    ? { error: 'insufficient_scope', scopes: needed }
    : { ...shown, scopes: [baselineScope] }
  const value = oauth?.challenge(req.url, about)
  return value === undefined ? {} : { 'www-authenticate': value }
}
