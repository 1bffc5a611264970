// Scripted loopback servers for tests and benches. Node built-ins only, nothing leaves 127.0.0.1.
//
//   startModelServer()   an OpenAI-compatible chat completions upstream that answers from a script
//   startEffectServer()  an HTTP target for tool calls that counts deliveries per Idempotency-Key
//
// Run by hand: node test/fakes/model-server.mjs --port 9099
// Types and the meaning of every field are in model-server.d.mts.

import { realpathSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const DEFAULT_CHUNK_SIZE = 16

// ---------------------------------------------------------------- shared plumbing

/** Epoch milliseconds that never step backwards, so differences between requests are safe. */
const nowMs = () => performance.timeOrigin + performance.now()

/** Resolves after `ms`, or at once when the response is gone. */
function sleep(ms, signal) {
  if (!(ms > 0) || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}

async function readBody(req, onBytes) {
  const parts = []
  for await (const part of req) {
    onBytes(part.length)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function parseBody(raw) {
  try {
    return JSON.parse(raw)
  } catch {
    return raw
  }
}

function sendJson(res, status, value, headers = {}) {
  const bytes = Buffer.from(JSON.stringify(value))
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...headers,
  })
  res.end(bytes)
}

/**
 * Listens on 127.0.0.1 and records every request. `handle(context)` gets the record once the whole
 * body has arrived; `context.signal` aborts, and `context.closed` resolves, once the response is over
 * or the client has gone.
 */
async function listen(port, handle, onBytes = () => {}) {
  const requests = []
  const sockets = new Set()
  let closing

  async function serve(req, res) {
    const atMs = nowMs()
    const url = new URL(req.url ?? '/', 'http://127.0.0.1')
    const gone = new AbortController()
    const record = {
      method: req.method ?? 'GET',
      path: url.pathname,
      headers: req.headers,
      body: undefined,
      atMs,
      aborted: false,
    }
    const closed = new Promise((resolve) => res.once('close', resolve))
    const context = { res, url, record, cutByUs: false, signal: gone.signal, closed }
    res.on('error', () => {})
    res.on('close', () => {
      record.aborted = !res.writableFinished && !context.cutByUs && !closing
      gone.abort()
    })
    let raw
    try {
      raw = await readBody(req, onBytes)
    } catch {
      return // the client left in the middle of its upload
    }
    if (raw !== '') record.body = parseBody(raw)
    requests.push(record)
    await handle(context)
  }

  const server = createServer((req, res) => {
    serve(req, res).catch((error) => {
      console.error('fake server:', error)
      res.destroy()
    })
  })
  // Idle keep-alive connections stay open until close(), so a pooled client never races a timeout.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })

  async function closeAll() {
    const stopped = new Promise((resolve) => server.close(resolve))
    // A socket's own close event comes after the server has already forgotten it.
    const gone = Array.from(sockets, (socket) => {
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.destroy()
      return closed
    })
    await Promise.all([stopped, ...gone])
  }
  const close = () => (closing ??= closeAll())
  return { port: server.address().port, requests, sockets, close }
}

// ---------------------------------------------------------------- model server

const openAiError = (
  message,
  { type = 'invalid_request_error', param = null, code = null } = {},
) => ({
  error: { message, type, param, code },
})

function errorType(status) {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

function requestProblem(body) {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return ['The request body is not a JSON object.', null]
  }
  if (typeof body.model !== 'string' || body.model === '') {
    return ["Missing required parameter: 'model'.", 'model']
  }
  if (!Array.isArray(body.messages) || body.messages.length === 0) {
    return ["Missing required parameter: 'messages'.", 'messages']
  }
  return undefined
}

/** What OpenAI says of the fields of some models, in its words. */
const refusals = {
  reasoning({ max_tokens: cap, temperature }) {
    if (cap !== undefined)
      return openAiError(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        { param: 'max_tokens', code: 'unsupported_parameter' },
      )
    if (temperature !== undefined && temperature !== 1)
      return openAiError(
        `Unsupported value: 'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`,
        { param: 'temperature', code: 'unsupported_value' },
      )
    return undefined
  },
  /** From before `max_completion_tokens`. */
  legacy: ({ max_completion_tokens: cap }) =>
    cap === undefined
      ? undefined
      : openAiError('Unrecognized request argument supplied: max_completion_tokens'),
}

const jsonLength = (value) => (value === undefined ? 0 : JSON.stringify(value).length)

function usageFor(reply, body) {
  const usage = reply.usage ?? {
    prompt_tokens: Math.ceil((jsonLength(body.messages) + jsonLength(body.tools)) / 4),
    completion_tokens:
      Math.ceil((reply.text ?? '').length / 4) + 8 * (reply.toolCalls ?? []).length,
  }
  return { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens }
}

function toolCallsFor(reply, idStem) {
  return (reply.toolCalls ?? []).map((call, i) => ({
    id: call.id ?? `call_${idStem}_${i}`,
    type: 'function',
    function: {
      name: call.name,
      arguments:
        typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
    },
  }))
}

/** Splits on code points, so no delta ends in half a surrogate pair. */
function splitText(text, size) {
  const points = Array.from(text)
  const out = []
  for (let i = 0; i < points.length; i += size) out.push(points.slice(i, i + size).join(''))
  return out
}

function splitBytes(bytes, size) {
  const out = []
  for (let i = 0; i < bytes.length; i += size) out.push(bytes.subarray(i, i + size))
  return out
}

/** The body of a chat.completion. */
function completion(base, reply, toolCalls, usage) {
  const message = {
    role: 'assistant',
    content: reply.text ?? (reply.noContent || toolCalls.length > 0 ? null : ''),
    refusal: null,
  }
  if (toolCalls.length > 0) message.tool_calls = toolCalls
  return {
    ...base,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reply) }],
    ...(reply.omitUsage ? {} : { usage }),
  }
}

/** The server-sent events of a streamed completion; a stalled reply stops before finish_reason. */
function completionEvents(base, reply, toolCalls, usage, includeUsage) {
  const size = chunkSize(reply) ?? DEFAULT_CHUNK_SIZE
  const withUsage = includeUsage && !reply.omitUsage
  const chunk = (choices, chunkUsage = null) => ({
    ...base,
    object: 'chat.completion.chunk',
    choices,
    ...(withUsage ? { usage: chunkUsage } : {}),
  })
  const delta = (value, reason = null) =>
    chunk([{ index: 0, delta: value, logprobs: null, finish_reason: reason }])

  const chunks = [
    delta({
      role: 'assistant',
      content: reply.noContent || (reply.text === undefined && toolCalls.length > 0) ? null : '',
      refusal: null,
    }),
  ]
  for (const content of splitText(reply.text ?? '', size)) chunks.push(delta({ content }))
  for (const [index, { id, type, function: fn }] of toolCalls.entries()) {
    const head = { index, id, type, function: { name: fn.name, arguments: '' } }
    chunks.push(delta({ tool_calls: [head] }))
    for (const part of splitText(fn.arguments, size)) {
      chunks.push(delta({ tool_calls: [{ index, function: { arguments: part } }] }))
    }
  }
  const events = () => chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`)
  if (reply.stall) return events()
  chunks.push(delta({}, finishReason(reply)))
  if (withUsage) chunks.push(chunk([], usage))
  return [...events(), 'data: [DONE]\n\n']
}

const finishReason = (reply) =>
  reply.finishReason ?? ((reply.toolCalls ?? []).length > 0 ? 'tool_calls' : 'stop')

const chunkSize = (reply) =>
  reply.chunkSize === undefined ? undefined : Math.max(1, Math.floor(reply.chunkSize))

/** Writes the pieces of one response body, honouring chunkDelayMs, cut and stall. */
async function writePieces(context, status, headers, pieces, reply) {
  const { res, signal } = context
  const cut = () => {
    context.cutByUs = true
    res.socket?.destroy()
  }
  if (reply.cut === 0) return cut()
  res.writeHead(status, headers)
  if (pieces.length === 0 || pieces[0].length === 0) res.flushHeaders()
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) await sleep(reply.chunkDelayMs, signal)
    if (signal.aborted) return
    if (i + 1 === reply.cut) {
      // Wait until the bytes are handed to the kernel, or the client would see fewer than N chunks.
      await Promise.race([new Promise((done) => res.write(piece, done)), context.closed])
      return cut()
    }
    if (!res.write(piece)) {
      await Promise.race([new Promise((done) => res.once('drain', done)), context.closed])
    }
  }
  if (reply.stall) return context.closed
  res.end()
}

/** The pieces of a body that is not an event stream. A cut always leaves it incomplete. */
function plainPieces(bytes, reply, size) {
  if (size !== undefined) return splitBytes(bytes, size)
  if (reply.cut > 0) return splitBytes(bytes, Math.ceil(bytes.length / (reply.cut + 1)))
  return [bytes]
}

export async function startModelServer(options = {}) {
  const models = options.models ?? ['fake-model']
  const idPrefix = options.idPrefix ?? 'fake'
  const scriptErrors = []
  const totals = { upstreamBytes: 0, promptTokens: 0, completionTokens: 0 }
  let latencyMs = options.latencyMs ?? 0
  let current = []
  let index = 0
  let served = 0

  function script(next) {
    current = Array.isArray(next) ? [...next] : next
    index = 0
  }
  script(options.script ?? [])

  async function nextReply(record) {
    const at = index++
    const reply = typeof current === 'function' ? await current(record, at) : current[at]
    if (reply) return reply
    throw new Error(
      typeof current === 'function'
        ? `the script function returned no reply for request ${at}`
        : `script exhausted: request ${at}, but only ${current.length} replies were scripted`,
    )
  }

  async function chat(context) {
    const { res, record, signal } = context
    const problem = requestProblem(record.body)
    if (problem) return sendJson(res, 400, openAiError(problem[0], { param: problem[1] }))

    const { body } = record
    if (options.onlyModels && !models.includes(body.model)) {
      const message = `The model \`${body.model}\` does not exist or you do not have access to it.`
      return sendJson(res, 404, openAiError(message, { code: 'model_not_found' }))
    }
    const refusal = refusals[options.dialects?.[body.model]]?.(body)
    if (refusal) return sendJson(res, 400, refusal)
    const stem = `${idPrefix}_${++served}`
    let reply
    try {
      reply = await nextReply(record)
    } catch (error) {
      // 400, because clients retry a 5xx and would bury the mistake in the test's script.
      const message = `fake model server: ${error instanceof Error ? error.message : String(error)}`
      scriptErrors.push(message)
      return sendJson(res, 400, openAiError(message, { code: 'script_error' }))
    }
    await sleep(latencyMs + (reply.delayMs ?? 0), signal)
    if (signal.aborted) return

    const status = reply.status ?? 200
    const extra = Object.fromEntries(
      Object.entries(reply.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const headersFor = (type, more) => ({
      'content-type': type,
      'x-request-id': `req_${stem}`,
      ...more,
      ...extra,
    })
    const json = 'application/json'
    const sse = 'text/event-stream; charset=utf-8'

    if (reply.body !== undefined || status >= 400) {
      const value =
        reply.body ?? openAiError(`Scripted failure ${status}.`, { type: errorType(status) })
      const bytes =
        typeof value === 'string' || value instanceof Uint8Array
          ? Buffer.from(value)
          : Buffer.from(JSON.stringify(value))
      const type = body.stream === true && status < 400 ? sse : json
      const pieces = plainPieces(bytes, reply, chunkSize(reply))
      return writePieces(context, status, headersFor(type), pieces, reply)
    }

    const usage = usageFor(reply, body)
    totals.promptTokens += usage.prompt_tokens
    totals.completionTokens += usage.completion_tokens
    const base = {
      id: `chatcmpl_${stem}`,
      created: Math.floor(record.atMs / 1000),
      model: body.model,
      system_fingerprint: 'fp_fake',
    }
    const toolCalls = toolCallsFor(reply, stem)
    if (body.stream === true) {
      const includeUsage = body.stream_options?.include_usage === true
      const events = completionEvents(base, reply, toolCalls, usage, includeUsage)
      const headers = headersFor(sse, { 'cache-control': 'no-cache' })
      return writePieces(context, status, headers, events, reply)
    }
    if (reply.stall && reply.cut === undefined) return context.closed
    const bytes = Buffer.from(JSON.stringify(completion(base, reply, toolCalls, usage)))
    const headers = headersFor(json, { 'content-length': bytes.length })
    return writePieces(context, status, headers, plainPieces(bytes, reply), reply)
  }

  async function handle(context) {
    const { res, record } = context
    if (record.method === 'POST' && record.path === '/v1/chat/completions') return chat(context)
    if (record.method === 'GET' && record.path === '/v1/models') {
      const data = models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'fake' }))
      return sendJson(res, 200, { object: 'list', data })
    }
    return sendJson(
      res,
      404,
      openAiError(`Unknown request URL: ${record.method} ${record.path}.`, { code: 'unknown_url' }),
    )
  }

  const server = await listen(options.port ?? 0, handle, (n) => {
    totals.upstreamBytes += n
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    port: server.port,
    requests: server.requests,
    scriptErrors,
    get upstreamBytes() {
      return totals.upstreamBytes
    },
    get promptTokens() {
      return totals.promptTokens
    },
    get completionTokens() {
      return totals.completionTokens
    },
    get openSockets() {
      return server.sockets.size
    },
    script,
    setLatency(ms) {
      latencyMs = ms
    },
    close: server.close,
  }
}

// ---------------------------------------------------------------- effect server

export async function startEffectServer(options = {}) {
  const effects = new Map()

  async function handle({ res, url, record, signal }) {
    const key = record.headers['idempotency-key']
    record.query = Object.fromEntries(url.searchParams)
    record.idempotencyKey = key
    // Counted on arrival and never deduplicated: a count of 2 means the caller delivered it twice.
    if (key !== undefined) effects.set(key, (effects.get(key) ?? 0) + 1)

    const failure = /^\/status\/(\d+)$/.exec(record.path)
    if (record.path === '/slow' || failure) {
      await sleep(Number(record.query.ms ?? (failure ? 0 : 1000)), signal)
      if (signal.aborted) return
    }
    const status = failure ? Number(failure[1]) : 200
    if (status < 200 || status > 599) {
      return sendJson(res, 400, { ok: false, error: `status ${status} cannot be served` })
    }
    if (status === 204 || status === 205 || status === 304) return res.writeHead(status).end()
    sendJson(res, status, {
      ok: status < 400,
      status,
      method: record.method,
      path: record.path,
      query: record.query,
      body: record.body ?? null,
      idempotencyKey: key ?? null,
      deliveries: key === undefined ? null : effects.get(key),
    })
  }

  const server = await listen(options.port ?? 0, handle)
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    requests: server.requests,
    effects,
    get openSockets() {
      return server.sockets.size
    },
    close: server.close,
  }
}

// ---------------------------------------------------------------- manual demo

function textOf(content) {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : ''
}

/** Calls kv__set on a user message when that tool is offered, then quotes the tool's result. */
export function demoScript({ body }) {
  const last = body.messages.at(-1)
  const said = textOf(last.content)
  if (last.role === 'tool') return { text: `The tool answered: "${said}"` }
  const canSet = (body.tools ?? []).some((tool) => tool.function?.name === 'kv__set')
  if (last.role === 'user' && canSet) {
    return { toolCalls: [{ name: 'kv__set', arguments: { key: 'demo', value: said } }] }
  }
  return { text: `You said: "${said}"` }
}

async function main() {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '9099' } } })
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new Error(`--port must be a number from 0 to 65535, not "${values.port}"`)
  }
  const server = await startModelServer({ port, script: demoScript })
  console.log(`fake model server on ${server.url} (model "fake-model"), Ctrl-C to stop`)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close())
}

if (process.argv[1] && isSameFile(process.argv[1], fileURLToPath(import.meta.url))) {
  main().catch((error) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
}

function isSameFile(a, b) {
  try {
    return realpathSync(a) === realpathSync(b)
  } catch {
    return false
  }
}
