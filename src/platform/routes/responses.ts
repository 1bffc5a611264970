import type { HttpContext, HttpDeps } from './deps.ts'
import { notAgain } from '#runtime/session/requests/begun.ts'
import { toOutgoingError } from './errors.ts'
import { challenge } from './challenge.ts'

/** The one way an error leaves. The detail of a 5xx goes to the operator, never to the caller. */
export function errorResponse(
  context: HttpContext,
  error: unknown,
  options: {
    readonly deps: HttpDeps
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

/** A JSON answer; 200 unless it says otherwise. */
export function jsonResponse(
  body: unknown,
  options: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  return new Response(JSON.stringify(body), {
    status: options.status ?? 200,
    headers: { 'content-type': 'application/json', ...options.headers },
  })
}

/** Server-sent events that no proxy holds back or keeps. */
export function eventStreamResponse(
  body: ReadableStream<Uint8Array> | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      // nginx and its like would hold the stream back until it ends.
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

/** On an answer to a repeated request: what it asks for had been taken in before. */
export function replayed(isReplayed: boolean): Readonly<Record<string, string>> {
  return isReplayed ? { 'idempotent-replayed': 'true' } : {}
}
