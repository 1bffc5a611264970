// What listens on the port of `npm start`. It hands whole requests on to the dev server behind it, which ends for good
// when a client goes away in the middle of a body (wrangler takes a failed fetch of its proxy for a fault of its own).
import { createServer, request } from 'node:http'

/** As much as the app reads before it gives a body up. */
const maxBodyBytes = 32 * 1024 * 1024
/** The app answers 431 and 400 below that, in its own words. */
const maxHeaderSize = 128 * 1024
/** Of one connection only (RFC 9110, 7.6.1); the length is that of the body as it was read. */
const ownHeaders =
  /^(connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|expect|content-length)$/i
const ownAnswerHeaders = /^(connection|keep-alive|proxy-connection|trailer|transfer-encoding)$/i

/**
 * @param options.target `{ host, port }` of the dev server.
 * @param options.onReached Told of each answer of it.
 * @param options.onUnreachable Told when nothing listens there.
 * @returns a server that listens.
 */
export function openFront({ host, port, ...behind }) {
  const server = createServer({ maxHeaderSize }, (incoming, outgoing) => {
    const problem = problemOf(incoming)
    if (problem) return refuse(outgoing, ...problem)
    readWhole(incoming).then(
      (body) => {
        if (body === undefined)
          refuse(outgoing, 413, 'too_large', 'The body is larger than 32 MiB.')
        else handOn({ incoming, body, outgoing }, behind)
      },
      // The client is gone: nobody waits for an answer.
      () => outgoing.destroy(),
    )
  })
  // Clients keep connections for a while; five seconds, Node's own, meets them as they send the next request.
  server.keepAliveTimeout = 60_000
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve(server))
  })
}

/** What two readers could read in two ways, or we cannot hand on as it is (RFC 9112, 3.2 and 6.1). */
function problemOf({ headersDistinct: { host = [] }, headers }) {
  if (host.length > 1) return [400, 'invalid_request', 'host: is there more than once.']
  const coding = headers['transfer-encoding'] ?? 'chunked'
  if (!/^chunked$/i.test(coding))
    return [501, 'not_implemented', 'transfer-encoding: only chunked is taken.']
  return undefined
}

/** `undefined` for a body that is too large. Rejects when it breaks off. */
async function readWhole(incoming) {
  const chunks = []
  let sizeBytes = 0
  if (Number(incoming.headers['content-length']) > maxBodyBytes) return undefined
  // It is not destroyed by what is given up: the answer goes the same way back.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  if (!incoming.complete) throw new Error('The body broke off.')
  return Buffer.concat(chunks)
}

function handOn({ incoming, body, outgoing }, { target, onReached, onUnreachable }) {
  const hasBody =
    body.length > 0 ||
    'content-length' in incoming.headers ||
    'transfer-encoding' in incoming.headers
  const headers = [
    ...without(incoming.rawHeaders, ownHeaders, namedIn(incoming.headers.connection)),
    ...(hasBody ? ['content-length', String(body.length)] : []),
  ]
  const unreachable = (error) => {
    if (error?.code === 'ECONNREFUSED') onUnreachable()
    if (outgoing.headersSent) outgoing.destroy()
    else refuse(outgoing, 503, 'unavailable', 'The server is starting: try again in a moment.')
  }
  try {
    // A connection each: one that is kept may be closed behind our back, and a POST is not sent twice.
    const asked = request({
      ...target,
      agent: false,
      method: incoming.method,
      path: incoming.url,
      headers,
    })
    outgoing.once('close', () => asked.destroy())
    asked.once('error', unreachable)
    asked.once('response', (answer) => {
      onReached()
      hand(answer, outgoing)
    })
    asked.end(body)
  } catch {
    // Of a path or a header that cannot be sent.
    refuse(outgoing, 400, 'invalid_request', 'The request cannot be handed on as it is.')
  }
}

function hand(answer, outgoing) {
  // The app says which request it answers; what comes from around it is the dev server's stack, with local paths.
  if (answer.statusCode === 500 && !('x-request-id' in answer.headers)) {
    answer.resume()
    refuse(outgoing, 500, 'internal_error', 'The server failed.')
    return
  }
  outgoing.writeHead(
    answer.statusCode,
    answer.statusMessage,
    without(answer.rawHeaders, ownAnswerHeaders),
  )
  // Streams begin before their first event.
  outgoing.flushHeaders()
  answer.once('error', () => outgoing.destroy())
  answer.pipe(outgoing)
}

/** Pairs of names and values in one list, as they were sent. */
function without(raw, names, more = []) {
  const isLeftOut = (name) => names.test(name) || more.includes(name.toLowerCase())
  return raw.filter((_text, index) => !isLeftOut(raw[index % 2 === 0 ? index : index - 1]))
}

/** What a client says is of this connection only; whom a request is for never is. */
const namedIn = (connection = '') =>
  connection
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== 'host')

/** In the shape of the app's own errors. */
function refuse(outgoing, status, code, message) {
  if (outgoing.destroyed) return
  const type = status < 500 ? 'invalid_request_error' : 'api_error'
  const error = { type, code, message, param: null }
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    // What is left of the request is not read.
    connection: 'close',
    ...(status === 503 && { 'retry-after': '1' }),
  })
  outgoing.end(JSON.stringify({ error }))
}
