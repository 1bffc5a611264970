import { defined } from '#contracts/defined.ts'
import { ApiError, noReply, toSaid } from './api-error.ts'
import { followEvents, type EventsOptions } from './events.ts'
import type { StreamItem } from '#contracts/event.ts'
import type { Given, Open, Reply, Route, Waiting } from './routes.ts'

export { ApiError, mayPass } from './api-error.ts'
export type { ClientErrorCode } from './api-error.ts'
export type { EventCursor, EventsOptions } from './events.ts'
export type { Reply, Request, Route } from './routes.ts'
export type { StreamItem }

export interface ClientOptions {
  /** Where the deployment is, without a path: `https://isola.example.com`. */
  readonly url: string
  /** A key of the deployment, or an access token of a sign-in. Sent with every request, and to no other address. */
  readonly key?: string
  /** Milliseconds that a reply may take; 60,000 unless set. A run that is waited for may take longer. */
  readonly timeoutMs?: number
  /** Instead of the platform's. */
  readonly fetch?: typeof fetch
}

/** A deployment, for a program. Repeats no request by itself: a request that may be repeated has an idempotency key. */
export interface Client {
  /**
   * Asks a route of the API, by its method and path: `request('GET /api/sessions/:id', { params: { id } })`.
   *
   * @returns The JSON of the reply. Nothing of it is checked here: the types say what this version knows.
   * @throws {ApiError} for a refusal, and where there is no answer; the reason of `signal` once that is aborted.
   */
  readonly request: <Of extends Route>(route: Of, ...given: Given<Of>) => Promise<Reply<Of>>
  /** The same, for headers and for what is not JSON: resolves to the reply with its body unread. */
  readonly open: Open
  /**
   * Follows a session, and reconnects where a connection breaks: every event comes once and in order. Ends after the
   * named run's `run_finished` or `run_parked`; without `run` once no run is at work, or when the server's stream
   * stays empty.
   *
   * @throws {ApiError} for a refusal, or where no connection holds; the reason of `signal` once that is aborted.
   */
  readonly events: (session: string, options?: EventsOptions) => AsyncGenerator<StreamItem>
}

/** The parts of any request: the types of `Given` say which route has which. */
interface AnyRequest extends Waiting {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
}

const present = (fields: Readonly<Record<string, string | number | undefined>> = {}) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  )

/** A value as one part of a path. Empty, `.` and `..` would lead to another route. */
function toPart(name: string, value: string | number | undefined): string {
  const text = String(value ?? '')
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${name} must name something, not ${JSON.stringify(text)}.`)
  return encodeURIComponent(text)
}

/** `GET /api/sessions/:id` with its parameters: the method, and path and query. */
function toTarget(route: string, { params = {}, query }: AnyRequest) {
  const [method = '', path = ''] = route.split(' ')
  const filled = path.replace(/:(\w+)(?:\{[^{}]*\})?/g, (_all, name: string) =>
    toPart(name, params[name]),
  )
  const asked = new URLSearchParams(present(query)).toString()
  return { method, target: asked === '' ? filled : `${filled}?${asked}` }
}

/** The body of a request. A blob brings its own media type. */
const toBody = (body: unknown) =>
  body === undefined || body instanceof Blob
    ? { body, headers: {} }
    : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }

/**
 * Makes a client of one deployment. Runs wherever there is `fetch`: Node, Workers, browsers.
 *
 * @throws {TypeError} if `url` is none, or `key` cannot stand in a header.
 */
export function createClient(options: ClientOptions): Client {
  const { key, fetch: send = globalThis.fetch, timeoutMs: usualMs = 60_000 } = options
  const { origin } = new URL(options.url)
  // A header takes nothing else, and the error that says so has the key in it.
  if (key !== undefined && !/^[\x20-\x7e]*$/.test(key))
    throw new TypeError('key must be printable ASCII, in one line.')

  async function ask(
    route: string,
    request: AnyRequest = {},
    signal: AbortSignal,
  ): Promise<Response> {
    const { method, target } = toTarget(route, request)
    const { body, headers } = toBody(request.body)
    const reply = await send(origin + target, {
      method,
      signal,
      // A key does not follow a redirect. `error` is not known to Workers.
      redirect: 'manual',
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
        ...present(request.headers),
      },
      ...defined({ body }),
    }).catch((cause: unknown) => {
      if (signal.aborted) throw signal.reason
      throw noReply('no_answer', `No server answers at ${origin}.`, cause)
    })
    if (reply.ok) return reply
    throw new ApiError(reply.status, toSaid(await reply.text().catch(() => '')))
  }

  /** Does something that has to be over in time. */
  async function inTime<T>(
    { signal, timeoutMs = usualMs }: Waiting = {},
    work: (either: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const late = new AbortController()
    const end = () =>
      late.abort(noReply('no_answer_in_time', `${origin} did not answer in ${timeoutMs} ms.`))
    const timer = Number.isFinite(timeoutMs) ? setTimeout(end, timeoutMs) : undefined
    const either = AbortSignal.any([late.signal, ...(signal ? [signal] : [])])
    try {
      return await work(either)
    } catch (error) {
      throw either.aborted ? either.reason : error
    } finally {
      clearTimeout(timer)
    }
  }

  const request = <Of extends Route>(route: Of, ...[given]: Given<Of>) =>
    inTime(given, async (signal) => {
      const reply = await ask(route, given, signal)
      // Its contract says so, and the tests hold every reply against that.
      return (reply.json() as Promise<Reply<Of>>).catch((cause: unknown) => {
        throw noReply('answer_broken', `The answer of ${origin} broke off.`, cause)
      })
    })
  const open: Client['open'] = (route, ...[given]) =>
    inTime(given, (signal) => ask(route, given, signal))
  const events: Client['events'] = (session, asked = {}) => followEvents(open, session, asked)
  return { request, open, events }
}
