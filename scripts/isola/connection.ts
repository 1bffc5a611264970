// Which server, with which key, and one request to it.
import { join } from 'node:path'
import { parseVars, readVarsText } from '../dev-vars.mjs'
import { isClone, root } from '../toolchain.mjs'

const timeoutMs = 60_000
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export const isLocal = (url) => loopback.test(new URL(url).hostname)

/** The variables of .dev.vars; none if there is no such file. Throws if it cannot be read. */
export function readVars(path = join(root, '.dev.vars')) {
  return parseVars(readVarsText(path) ?? '')
}

/**
 * The server of `ISOLA_URL`, by default the local one, with `ISOLA_KEY`. The key of .dev.vars is for this machine's
 * server: it is sent nowhere else. A key is sent in the clear to nobody but this machine.
 */
export function findServer(env, vars = readVars()) {
  const text = env.ISOLA_URL || `http://localhost:${env.PORT || 8787}`
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new Error('ISOLA_URL is not an http or https URL, such as https://isola.example.com.')
  const { origin, protocol, pathname } = new URL(text)
  if (pathname !== '/')
    throw new Error(`ISOLA_URL is the address of the server alone: ${origin}, without ${pathname}.`)
  const local = isLocal(origin)
  if (protocol === 'http:' && !local)
    throw new Error('ISOLA_URL must be https: over http the key could be read on the way.')
  // Somebody meant to give one, such as `ISOLA_KEY=$(…)` of a command that failed: another key is not what was meant.
  if (env.ISOLA_KEY?.trim() === '')
    throw new Error(
      'ISOLA_KEY is set, and empty: put a key into it, or take it away (unset ISOLA_KEY).',
    )
  const key = env.ISOLA_KEY ?? (local ? vars.ISOLA_OPERATOR_KEY : undefined)
  return { url: origin, isLocal: local, isChosen: Boolean(env.ISOLA_URL), ...(key && { key }) }
}

/** What the server refused: its message, with `status`, `code` and `param`. */
export class RequestError extends Error {
  constructor(status, { message, code, param, request_id: requestId } = {}) {
    super(message ?? `The server answered ${status}.`)
    Object.assign(this, { status, code, param, requestId })
  }
}

/** No answer came. */
export class UnreachableError extends Error {}

async function refusal(response) {
  const text = await response.text().catch(() => '')
  try {
    return new RequestError(response.status, JSON.parse(text).error ?? {})
  } catch {
    return new RequestError(response.status)
  }
}

/**
 * Talks to one server.
 * @returns `open` resolves to an answer that is fine, its body unread; `request` to its JSON. Both throw a
 *   `RequestError` or an `UnreachableError`.
 */
export function createConnection(server, { fetch = globalThis.fetch } = {}) {
  const open = async (path, { method = 'GET', json, body, headers = {}, signal } = {}) => {
    if (!server.key) {
      throw new Error(
        server.isLocal
          ? isClone
            ? 'There is no key: run `npm start` once, which makes .dev.vars, or set ISOLA_KEY.'
            : `ISOLA_KEY is not set: the key for ${server.url}, which \`npm start\` printed.`
          : `ISOLA_KEY is not set: the key for ${server.url} (that of .dev.vars is for the local server only).`,
      )
    }
    const response = await fetch(server.url + path, {
      method,
      signal,
      // A key does not follow a redirect.
      redirect: 'error',
      headers: {
        authorization: `Bearer ${server.key}`,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      // What is not JSON brings its own content type.
      ...(body !== undefined && { body }),
      ...(json !== undefined && { body: JSON.stringify(json) }),
    }).catch((cause) => {
      if (signal?.aborted) throw cause
      const start = isClone ? 'Start it with `npm start`, or set' : 'Start it, or set'
      const hint = server.isLocal ? ` ${start} ISOLA_URL.` : ''
      throw new UnreachableError(`No server answers at ${server.url}.${hint}`, { cause })
    })
    if (!response.ok) throw await refusal(response)
    return response
  }
  const request = async (path, options = {}) => {
    const signal = options.signal ?? AbortSignal.timeout(timeoutMs)
    const response = await open(path, { ...options, signal })
    return response.json().catch((cause) => {
      throw new UnreachableError(`The answer of ${server.url} broke off.`, { cause })
    })
  }
  return { server, open, request }
}
