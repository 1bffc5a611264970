// The only listener on the port of `npm start`. It hands whole requests on to the Worker behind it,
// which listens on a socket that only this account may open.
import { createServer, request } from 'node:http'

/** The app's own limit of a body. */
const maxBodyBytes = 32 * 1024 * 1024
/** Higher than the app's limit, so that the app answers 431 and 400 in its own words. */
const maxHeaderSize = 128 * 1024
/** Of one connection only (RFC 9110, 7.6.1); the length is that of the body as it was read. */
const ownHeaders =
  /^(connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|expect|content-length)$/i
const ownAnswerHeaders = /^(connection|keep-alive|proxy-connection|trailer|transfer-encoding)$/i

/**
 * @param options.target Where the Worker is, as `request` of node:http has it: `{ socketPath }`.
 * @param options.triggers Where its cron triggers are asked for.
 * @param options.onReached Told of each answer of the Worker.
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
      // The client has gone: an answer would reach no reader.
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

/** A name or an address, and a port: what else is there would end in the runtime, or be read in two ways. */
const hostForm = /^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i
const isHost = (text) => hostForm.test(text) && URL.canParse(`http://${text}`)

/** A path, also of an address in its place (RFC 9112, 3.2.2), which is at the host that the request names. */
function pathOf(target, host) {
  if (target.startsWith('/')) return target
  const [, named, path] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? []
  if (named?.toLowerCase() !== host.toLowerCase()) return undefined
  return path.startsWith('/') ? path : `/${path}`
}

/**
 * The fault of a request that two readers could read in two ways, or that cannot be handed on as it is (RFC 9112, 3.2
 * and 6.1).
 */
function problemOf({ headersDistinct: { host = [] }, headers, url }) {
  if (host.length > 1) return [400, 'invalid_request', 'host: is there more than once.']
  if (!isHost(host[0] ?? ''))
    return [400, 'invalid_request', 'host: must be a name or an address, and at most a port.']
  if (pathOf(url, host[0]) === undefined)
    return [
      400,
      'invalid_request',
      'The target of the request must be a path, or an address at this host.',
    ]
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

/** Asks for a cron trigger, which comes by itself on a deployment. */
const scheduledPath = /^\/cdn-cgi\/handler\/scheduled(?=\?|$)/
/**
 * As src/contracts/destination.ts has it, which Node 20 cannot load: `npm start` begins with the machine's own Node.
 */
const isOfThisMachine = (host) => /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/i.test(host)

/**
 * The request that goes on; nothing for a trigger that a page in a browser asks for, by whatever name it has for us.
 */
function requestOf({ incoming, body }, { target, triggers }) {
  const { method, headers: given, rawHeaders } = incoming
  const path = pathOf(incoming.url, given.host)
  if (triggers && scheduledPath.test(path)) {
    if ('origin' in given || 'sec-fetch-site' in given || !isOfThisMachine(given.host))
      return undefined
    const asMiniflareHasIt = path.replace(scheduledPath, '/cdn-cgi/local/scheduled')
    return { ...triggers, path: asMiniflareHasIt, headers: { host: 'localhost' } }
  }
  const hasBody = body.length > 0 || 'content-length' in given || 'transfer-encoding' in given
  const headers = [
    ...without(rawHeaders, ownHeaders, namedIn(given.connection)),
    ...(hasBody ? ['content-length', String(body.length)] : []),
  ]
  return { ...target, method, path, headers }
}

/** An app that still waits for the body by then has not refused it. */
const maxRefusalMs = 2_000

function handOn({ incoming, body, outgoing }, behind) {
  const sent = requestOf({ incoming, body }, behind)
  if (!sent)
    return refuse(
      outgoing,
      403,
      'forbidden',
      'A trigger is asked for on this machine, not by a page.',
    )
  const { onReached, onUnreachable } = behind
  const unreachable = (error) => {
    if (['ECONNREFUSED', 'ENOENT'].includes(error?.code)) onUnreachable()
    if (outgoing.headersSent) outgoing.destroy()
    else refuse(outgoing, 503, 'unavailable', 'The server is starting: try again in a moment.')
  }
  const ask = (text, onError) => {
    // A new connection for each request: a kept one may be closed by the server, and a POST must not be sent twice.
    const asked = request({ ...sent, agent: false })
    outgoing.once('close', () => asked.destroy())
    asked.once('error', onError)
    asked.once('response', (answer) => {
      onReached()
      hand(answer, outgoing)
    })
    return text === undefined ? asked.flushHeaders() : asked.end(text)
  }
  /** The app refused a body by its length and closed, and its answer went with the connection: the length is enough. */
  const askForRefusal = (error) => {
    // An answer that breaks off says so itself; a whole one is handed on.
    if (outgoing.headersSent || outgoing.destroyed) return
    const isUnread = ['EPIPE', 'ECONNRESET'].includes(error?.code) && body.length > 0
    if (!isUnread) return unreachable(error)
    ask(undefined, unreachable)
    const late = setTimeout(() => !outgoing.headersSent && unreachable(error), maxRefusalMs)
    outgoing.once('close', () => clearTimeout(late))
  }
  try {
    ask(sent.method === undefined ? '' : body, askForRefusal)
  } catch {
    // Of a path or a header that cannot be sent.
    refuse(outgoing, 400, 'invalid_request', 'The request cannot be handed on as it is.')
  }
}

function hand(answer, outgoing) {
  // The app says which request it answers; what comes from around it is the runtime's own, with local paths.
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

/** The headers that a client names as of this connection only; the host is never one of them. */
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
    // The rest of the request is not read.
    connection: 'close',
    ...(status === 503 && { 'retry-after': '1' }),
  })
  outgoing.end(JSON.stringify({ error }))
}
