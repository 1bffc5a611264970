import { baselineScope } from './types/scopes.ts'
import type { HttpContext, RequestDeps } from './types.ts'
import { notAgain, toOutgoingError } from './errors.ts'
import { jsonResponse } from './answer.ts'

/** Where a client gets the token it needs (RFC 6750, RFC 9728), at the addresses where tokens are taken. */
function challenge(
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

/** The one way an error leaves. The detail of a 5xx goes to the operator, never to the caller. */
export function errorResponse(
  context: HttpContext,
  error: unknown,
  options: {
    readonly deps: Pick<RequestDeps, 'onFault' | 'oauth'>
    readonly headers?: Readonly<Record<string, string>>
    /** The run whose outcome the error is: quoted instead of the request, so that a replay reads the same. */
    readonly run?: string
  },
): Response {
  const requestId = context.get('requestId')
  const outgoing = toOutgoingError(error, options.run ?? requestId)
  if (outgoing.status >= 500) {
    const shown = context.req.header('authorization')?.replace(/^\S+\s+/, '')
    options.deps.onFault?.(error, requestId, shown === undefined ? [] : [shown])
  }
  return jsonResponse(outgoing.body, {
    status: outgoing.status,
    headers: {
      ...outgoing.headers,
      ...challenge(context, outgoing.status, options.deps),
      ...((options.run !== undefined || context.get('mayHaveBegun')) && notAgain),
      ...options.headers,
    },
  })
}
