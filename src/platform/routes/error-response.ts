import { notAgain } from '#runtime/session/requests/begun.ts'
import { toOutgoingError } from './errors.ts'
import { challenge } from './challenge.ts'
import { jsonResponse } from './responses.ts'
import type { HttpContext, RequestDeps } from './types.ts'

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
