import { allowedHosts } from './hosts.ts'
import { PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Clock } from '#contracts/sources.ts'
import { createMcpHandler } from 'agents/mcp/server'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import { readJsonObject } from '#platform/routes/body.ts'
import type { McpDeps } from './deps.ts'
import { statusOf } from '#platform/routes/errors.ts'
import { jsonResponse } from '#platform/routes/answer.ts'
import { callerOf } from './caller.ts'
import { cancelRequest, sessionHeader } from './older-clients.ts'
import { whyUnread, withoutNullParams } from './read-request.ts'
import { createServer } from './server.ts'
import type { RequestContext } from '#platform/routes/request.ts'

/** So long an answer may take before its stream begins. */
const openAfterMs = 1_000

/** An answer that may take longer than a client waits for its first byte. */
interface Answering {
  /** The request's own signal; aborted as well when the client closes the stream. */
  readonly signal: AbortSignal
  readonly clock: Pick<Clock, 'sleep'>
  readonly answer: (signal: AbortSignal) => Promise<Response>
  /** The message for an answer that fails after its stream began. */
  readonly onFault: (error: unknown) => JsonObject
}

/**
 * Begins the stream of an answer that takes a while. Closing a request cancels it (2026-07-28), and the platform
 * reports a client's leaving only after bytes were sent to it. A quick answer is sent without a stream.
 */
export async function openEarly({ signal, clock, answer, onFault }: Answering): Promise<Response> {
  const gone = new AbortController()
  const early = new AbortController()
  const answered = answer(AbortSignal.any([signal, gone.signal]))
  const wait = clock.sleep(openAfterMs, early.signal).then(() => undefined)
  const first = await Promise.race([answered, wait]).finally(() => early.abort())
  if (first) return first
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(encode(': it takes a moment\n\n'))
      try {
        for await (const chunk of framesOf(await answered)) controller.enqueue(chunk)
      } catch (error) {
        // The client is gone.
        if (gone.signal.aborted) return
        controller.enqueue(encode(`data: ${JSON.stringify(onFault(error))}\n\n`))
      }
      controller.close()
    },
    cancel: () => gone.abort(),
  })
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' }
  return new Response(body, { headers })
}

/** The events of an answer, whichever form it has. */
async function* framesOf(response: Response): AsyncGenerator<Uint8Array> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  if (isStream && response.body) return yield* response.body
  const text = await response.text()
  if (text !== '') yield encode(`data: ${text}\n\n`)
}

const encode = (text: string) => new TextEncoder().encode(text)

/** A request of a client that may be answered by a stream, and whose closing is its cancel. */
export function isClosable({ id, params }: JsonObject): boolean {
  const { _meta } = Object(params) as { readonly _meta?: Json }
  return id !== undefined && PROTOCOL_VERSION_META_KEY in Object(_meta)
}

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
