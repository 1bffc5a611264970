import { createMcpHandler } from 'agents/mcp/server'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { JsonObject } from '#contracts/json.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { McpDeps } from './deps.ts'
import { statusOf } from '#platform/routes/errors.ts'
import { jsonResponse } from '#platform/routes/responses.ts'
import { callerOf } from './caller.ts'
import { allowedHosts } from './hosts.ts'
import { cancelRequest, sessionHeader } from './older-clients.ts'
import { isClosable, openEarly } from './open-early.ts'
import { whyUnread, withoutNullParams } from './read-request.ts'
import { createServer } from './server.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/**
 * `/mcp`: the Model Context Protocol over Streamable HTTP, for clients of 2026-07-28 and of 2025, without a session of
 * its own: each request is answered by a server that is made for it.
 */
export async function answerMcp(deps: McpDeps, context: RequestContext): Promise<Response> {
  const request = context.raw
  const url = new URL(request.url)
  const requestId = context.requestId
  const onFault = (error: unknown) => deps.onFault?.(error, requestId)
  const hosts = allowedHosts(url, deps.hosts ?? [])
  const body = request.method === 'POST' ? await readBody(request) : undefined
  if (body instanceof Response) return body
  const unread = body && whyUnread(body)
  if (unread) return unread
  // Not in the handler: the library would hide the failure.
  const caller = await callerOf(deps, context)
  const errors: Error[] = []
  const handler = createMcpHandler(() => createServer({ deps, caller, onFault }), {
    route: url.pathname,
    corsOptions: false,
    allowedHostnames: hosts,
    allowedOriginHostnames: hosts,
    onerror: (error) => void errors.push(error),
  })
  if (!body) return handler.fetch(request)
  if (body['method'] === 'subscriptions/listen') return noSubscriptions(body)
  const { id: principal } = context.caller
  await cancelRequest(deps, principal, { headers: request.headers, body })
  const answer = async (signal: AbortSignal) => {
    // Its body was read above.
    const { url: target, method, headers } = request
    const asked = new Request(target, { method, headers, signal })
    const response = await handler.fetch(asked, { parsedBody: body })
    // A fault of a request concerns its client alone: only our own faults are reported.
    if (response.status >= 500) errors.forEach(onFault)
    return response
  }
  const failed = (error: unknown): JsonObject => {
    onFault(error)
    const told = { code: -32_603, message: 'Something went wrong on our side.' }
    return { jsonrpc: '2.0', id: body['id'] ?? null, error: told }
  }
  const { signal } = request
  const { clock } = deps.sources
  const response = await (isClosable(body)
    ? openEarly({ signal, clock, answer, onFault: failed })
    : answer(signal))
  if (body['method'] === 'initialize' && response.ok)
    response.headers.set(sessionHeader, deps.sources.ids.next('req'))
  return response
}

/** Nothing is ever said on such a stream, and it would outlive the right to listen. */
function noSubscriptions({ id = null }: JsonObject): Response {
  const error = { code: -32_601, message: 'There are no subscriptions here.' }
  return jsonResponse({ jsonrpc: '2.0', error, id }, { status: 404 })
}

/** The body within the limits of every other route; its faults are answered in the form of the protocol. */
async function readBody(request: Request): Promise<JsonObject | Response> {
  try {
    return withoutNullParams(await readJsonObject(request))
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined) throw error
    const isUnreadable = code === 'request_invalid'
    const rpc = { code: isUnreadable ? -32_700 : -32_000, message: errorMessage(error) }
    return jsonResponse({ jsonrpc: '2.0', error: rpc, id: null }, { status: statusOf(code) })
  }
}
