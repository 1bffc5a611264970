import { inspect } from 'node:util'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { ApiError, createClient, type Reply } from '../../../src/client/client.ts'
import { createFakeApp, testRun, testSession } from '../../fakes/http-deps.ts'

/** A client of the app itself, and what it sent. */
function open(options: Parameters<typeof createFakeApp>[0] = {}) {
  const { send, calls } = createFakeApp(options)
  const sent: { url: URL; init: RequestInit }[] = []
  const fetch = async (input: unknown, init: RequestInit = {}) => {
    const url = new URL(String(input))
    sent.push({ url, init })
    return send(url.pathname + url.search, init)
  }
  const client = createClient({ url: 'https://isola.example', key: 'isk_test', fetch })
  return { client, sent, calls }
}

/** A client of a server that answers this. */
const answering = (
  answer: (init: RequestInit) => Response | Promise<Response>,
  timeoutMs = 5_000,
) =>
  createClient({
    url: 'https://isola.example/',
    timeoutMs,
    fetch: async (_url, init = {}) => answer(init),
  })

const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a client of the API', () => {
  it('asks a route by its method and path, with its parameters, query, headers and body', async () => {
    const { client, sent } = open()
    const session = await client.request('POST /api/sessions', {
      body: { agent: 'code-reviewer' },
      headers: { 'idempotency-key': 'one' },
    })
    expect(session.id).toMatch(/^ses_/)
    await client.request('GET /api/sessions/:id', {
      params: { id: testSession },
      query: { limit: 5, before: testRun },
    })
    expect(sent.map(({ url, init }) => [init.method, url.pathname + url.search])).toEqual([
      ['POST', '/api/sessions'],
      ['GET', `/api/sessions/${testSession}?limit=5&before=${testRun}`],
    ])
    expect(sent[0]?.init).toMatchObject({
      body: '{"agent":"code-reviewer"}',
      headers: {
        authorization: 'Bearer isk_test',
        'content-type': 'application/json',
        'idempotency-key': 'one',
      },
    })
  })

  it('has the types of the contracts: what a route takes, and what it answers', () => {
    const { client } = open()
    const never = () => {
      // @ts-expect-error there is no such route
      void client.request('GET /api/session')
      // @ts-expect-error its parameter is missing
      void client.request('GET /api/sessions/:id')
      // @ts-expect-error the task is a text
      void client.request('POST /api/sessions/:id/runs', { params: { id: 'x' }, body: { task: 1 } })
      // @ts-expect-error this route takes no such header
      void client.request('GET /api/sessions', { headers: { 'idempotency-key': 'x' } })
      // @ts-expect-error this route takes no query
      void client.request('GET /api/operator/http', { query: { limit: 1 } })
    }
    expect(never).toBeTypeOf('function')
    expectTypeOf<
      Reply<'GET /api/sessions/:id'>['children'][number]['runs'][number]['state']
    >().toEqualTypeOf<
      'queued' | 'running' | 'parked' | 'completed' | 'stopped' | 'failed' | 'cancelled'
    >()
    expectTypeOf<Reply<'GET /api/operator/keys'>['keys'][number]['expiresAtMs']>().toEqualTypeOf<
      number | null
    >()
  })

  it('refuses a key that no header takes, and does not say it', () => {
    for (const key of ['isk_secret\n', 'isk_\u{e9}secret', 'isk_secret\0']) {
      const make = () => createClient({ url: 'https://isola.example', key })
      expect(make).toThrow('key must be printable ASCII, in one line.')
      try {
        make()
      } catch (error) {
        expect(inspect(error, { depth: 9 })).not.toContain('secret')
      }
    }
  })

  it('throws what the server refuses, with type, code, field and request', async () => {
    const { client } = open()
    const error = await failure(
      client.request('GET /api/sessions/:id', {
        params: { id: testSession },
        query: { limit: 'many' },
      }),
    )
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({
      name: 'ApiError',
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid',
      param: 'limit',
      requestId: expect.stringMatching(/^req_/) as string,
    })
  })

  it('bears an error that is none of ours, and fields that it does not know', async () => {
    const gateway = answering(() => new Response('<h1>Bad gateway</h1>', { status: 502 }))
    expect(await failure(gateway.request('GET /healthz'))).toMatchObject({
      status: 502,
      code: 'unknown',
      message: 'The server answered 502.',
    })
    const newer = answering(() => Response.json({ status: 'ok', since: 'tomorrow' }))
    expect(await newer.request('GET /healthz')).toEqual({ status: 'ok', since: 'tomorrow' })
  })

  it('follows no redirect with its key', async () => {
    const moved = answering((init) => {
      expect(init.redirect).toBe('manual')
      return new Response(null, { status: 302, headers: { location: 'https://evil.example' } })
    })
    expect(await failure(moved.request('GET /healthz'))).toMatchObject({ status: 302 })
  })

  it.each(['', '.', '..'])(
    'sends nothing for a parameter that names another route: %j',
    async (id) => {
      const { client, sent } = open()
      const error = await failure(client.request('DELETE /api/sessions/:id', { params: { id } }))
      expect(error).toBeInstanceOf(TypeError)
      expect(sent).toEqual([])
    },
  )

  it('says in one class that nothing answered, nothing in time, or half an answer', async () => {
    const fails = answering(() => Promise.reject(new TypeError('fetch failed')))
    expect(await failure(fails.request('GET /healthz'))).toMatchObject({
      name: 'ApiError',
      status: 0,
      code: 'no_answer',
      message: 'No server answers at https://isola.example.',
    })
    const hangs = answering(
      ({ signal }) =>
        new Promise((_done, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
      1,
    )
    expect(await failure(hangs.request('GET /healthz'))).toMatchObject({
      status: 0,
      code: 'no_answer_in_time',
    })
    const cut = answering(() => new Response('{"status":'))
    expect(await failure(cut.request('GET /healthz'))).toMatchObject({ code: 'answer_broken' })
  })

  it('ends with the reason of the signal that it was given', async () => {
    const stop = new AbortController()
    const reason = new Error('left')
    const hangs = answering(({ signal }) => {
      stop.abort(reason)
      return Promise.reject(signal?.reason as Error)
    })
    expect(await failure(hangs.request('GET /healthz', { signal: stop.signal }))).toBe(reason)
  })

  it('sends what is no JSON as it is, and gives a reply with its body unread', async () => {
    const seen: RequestInit[] = []
    const client = answering((init) => {
      seen.push(init)
      return new Response('runs 1', { headers: { 'content-type': 'text/plain' } })
    })
    const body = new Blob(['PK'], { type: 'application/zip' })
    const reply = await client.open('POST /api/operator/plugins', {
      body,
      query: { replace: 'true' },
    })
    expect(await reply.text()).toBe('runs 1')
    expect(seen[0]?.body).toBe(body)
    expect(seen[0]?.headers).toEqual({})
  })
})
