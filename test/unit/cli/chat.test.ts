import { describe, expect, it } from 'vitest'
import { isola } from '../../fakes/terminal.ts'

const env = { ISOLA_URL: 'https://isola.example', ISOLA_KEY: 'isk_test' }
const session = 'ses_1'
const run = 'run_1'

interface Item {
  readonly type: string
  readonly data?: unknown
  readonly [field: string]: unknown
}
interface Asked {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly lastEventId: string | undefined
}

const event = (seq: number, type: string, data: object): Item => ({ seq, run, type, data })
const delta = (offset: number, text: string): Item => ({
  type: 'message_delta',
  run,
  turn: 1,
  offset,
  text,
})
const said = (seq: number, text: string) => event(seq, 'message_finished', { turn: 1, text })
const finished = (seq: number, state = 'completed') =>
  event(seq, 'run_finished', { state, result: { success: state === 'completed' } })

const block = (item: Item) =>
  `event: ${item.type}\n${item['seq'] === undefined ? '' : `id: ${run}:${String(item['seq'])}\n`}data: ${JSON.stringify(item)}\n\n`

/** A connection: these items, then its end; `cut` ends it in the middle of a block, with an error. */
const connection = (items: readonly Item[], cut?: Item) => (): Response => {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) =>
      controller.enqueue(encoder.encode(`: isola events\n\n${items.map(block).join('')}`)),
    pull: (controller) => {
      if (!cut) return controller.close()
      controller.enqueue(encoder.encode(block(cut).slice(0, -3)))
      controller.error(new TypeError('terminated'))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const ending = (...items: Item[]) => connection(items)

/** A server with one session: each `GET …/events` takes the next of the streams. */
function fakeServer(streams: readonly (() => Response)[], tree: object = {}) {
  const asked: Asked[] = []
  const left = [...streams]
  const empty = {
    id: session,
    agent: 'orchestrator',
    createdAtMs: 0,
    runs: [],
    children: [],
    usage: {},
  }
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const { pathname } = new URL(String(url))
    const headers = init.headers as Record<string, string>
    const method = init.method ?? 'GET'
    const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    asked.push({ method, path: pathname, body, lastEventId: headers['last-event-id'] })
    if (pathname.endsWith('/events')) return left.shift()?.() ?? new Response('', { status: 404 })
    if (pathname.endsWith('/transcript'))
      return Response.json({ messages: [{ role: 'user', text: 'hi' }] })
    if (pathname.endsWith('/runs')) return Response.json({ session, run }, { status: 202 })
    if (pathname.endsWith('/decisions')) return Response.json({ id: run })
    return Response.json(method === 'POST' ? empty : { ...empty, ...tree })
  }
  return { asked, fetch: fetch as typeof globalThis.fetch }
}

const decisions = (asked: readonly Asked[]) =>
  asked.filter(({ path }) => path.endsWith('/decisions')).map(({ body }) => body)

describe('isola chat, from a pipe', () => {
  it('says each message once, though it came in pieces and whole', async () => {
    const { fetch } = fakeServer([
      ending(delta(0, 'Hel'), delta(3, 'lo'), said(1, 'Hello there.'), finished(2)),
    ])
    const { code, stdout } = await isola(['chat'], { env, fetch, input: 'hi\n' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello there.\n' })
  })

  it('comes back by Last-Event-ID when a connection breaks, without a gap and without a repeat', async () => {
    const tool = { call: 'c1', tool: 'kv__set', ok: true, output: 1, durationMs: 1 }
    const { asked, fetch } = fakeServer([
      connection(
        [event(1, 'tool_started', { ...tool, input: {} }), delta(0, 'One, ')],
        event(2, 'tool_finished', tool),
      ),
      // What the first connection told last, told again, must not be shown again.
      connection([
        event(1, 'tool_started', tool),
        event(2, 'tool_finished', tool),
        delta(0, 'One, two'),
      ]),
      ending(delta(0, 'One, two, th'), said(3, 'One, two, three.'), finished(4)),
    ])
    const { code, stdout, stderr } = await isola(['chat'], { env, fetch, input: 'count\n' })
    expect({ code, stdout: stdout.replaceAll('\n', '') }).toEqual({
      code: 0,
      stdout: 'One, two, three.',
    })
    expect(stderr.match(/✓/g)).toHaveLength(1)
    expect(stderr.match(/· kv__set/g)).toHaveLength(1)
    const cursors = asked
      .filter(({ path }) => path.endsWith('/events'))
      .map(({ lastEventId }) => lastEventId)
    expect(cursors).toEqual([undefined, '1', '2'])
  })

  it('says a message anew when the attempt that began it is not kept', async () => {
    const failed = event(1, 'model_failed', { provider: 'p', model: 'm', code: 'model_network' })
    const { fetch } = fakeServer([
      ending(delta(0, 'Wrong'), failed, delta(0, 'Right'), said(2, 'Right.'), finished(3)),
    ])
    const { stdout } = await isola(['chat'], { env, fetch, input: 'hi\n' })
    expect(stdout).toBe('Wrong\nRight.\n')
  })

  it('ends with 1 if a run did not complete', async () => {
    const { fetch } = fakeServer([
      ending(finished(1, 'stopped')),
      ending(said(2, 'ok'), finished(3)),
    ])
    const { code } = await isola(['chat'], { env, fetch, input: 'a\nb\n' })
    expect(code).toBe(1)
  })

  it('ends with 1 when the server goes away for good', async () => {
    const { fetch } = fakeServer([])
    const { code, stderr } = await isola(['chat'], { env, fetch, input: 'a\nb\n' })
    expect(code).toBe(1)
    expect(stderr).toContain('isola: The server answered 404.')
  })

  const pause = {
    call: 'c1',
    tool: 'kv__set',
    input: { key: 'a' },
    argsHash: 'h1',
    kind: 'approval',
  }
  const parked = { runs: [{ id: run, state: 'parked', pauses: [pause] }] }
  const streams = [ending(event(1, 'run_parked', {})), ending(said(2, 'Done.'), finished(3))]

  it('asks for an approval of exactly what it shows, in the next line', async () => {
    const { asked, fetch } = fakeServer(streams, parked)
    const { code, stdout, stderr } = await isola(['chat', '--approve', 'kv__*'], {
      env,
      fetch,
      input: 'set a\nyes\n',
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(stderr).toContain('? kv__set wants to run with {"key":"a"}')
    expect(decisions(asked)).toEqual([{ call: 'c1', decision: 'approve', argsHash: 'h1' }])
    expect(asked.find(({ path }) => path.endsWith('/runs'))?.body).toEqual({
      task: 'set a',
      mayAsk: true,
      requireApproval: ['kv__*'],
    })
  })

  it.each([
    ['no', { call: 'c1', decision: 'deny' }],
    ['not today', { call: 'c1', decision: 'deny', message: 'not today' }],
    ['yes please', { call: 'c1', decision: 'deny', message: 'yes please' }],
  ])('runs nothing for the answer "%s"', async (answer, decision) => {
    const { asked, fetch } = fakeServer(streams, parked)
    await isola(['chat'], { env, fetch, input: `set a\n${answer}\n` })
    expect(decisions(asked)).toEqual([decision])
  })

  it('denies what nobody is there to approve, and ends with 1', async () => {
    const { asked, fetch } = fakeServer(streams, parked)
    const { code } = await isola(['chat'], { env, fetch, input: 'set a\n' })
    expect(decisions(asked)).toEqual([
      { call: 'c1', decision: 'deny', message: 'Nobody is there to decide.' },
    ])
    expect(code).toBe(1)
  })

  it('answers a question of a sub-agent in that session', async () => {
    const question = {
      ...pause,
      call: 'c9',
      kind: 'question',
      input: { question: 'Which colour?' },
    }
    const child = {
      id: 'ses_2',
      runs: [{ id: 'run_2', state: 'parked', pauses: [question] }],
      children: [],
    }
    const own = { runs: [{ id: run, state: 'parked', pauses: [{ ...pause, kind: 'session' }] }] }
    const { asked, fetch } = fakeServer(streams, { ...own, children: [child] })
    const { stderr } = await isola(['chat'], { env, fetch, input: 'paint it\nblue\n' })
    expect(stderr).toContain('? Which colour?')
    expect(asked.find(({ path }) => path.endsWith('/decisions'))).toMatchObject({
      path: '/api/sessions/ses_2/runs/run_2/decisions',
      body: { call: 'c9', decision: 'result', output: 'blue' },
    })
  })

  it('waits with a run that waits for another session', async () => {
    const own = { runs: [{ id: run, state: 'parked', pauses: [{ ...pause, kind: 'session' }] }] }
    const { asked, fetch } = fakeServer(
      [ending(event(1, 'run_parked', {})), ending(), ending(said(2, 'Done.'), finished(3))],
      own,
    )
    const { code, stdout, stderr } = await isola(['chat'], { env, fetch, input: 'delegate\n' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' })
    expect(stderr).not.toContain('broke')
    expect(decisions(asked)).toEqual([])
  })

  it('shows what a sub-agent does below its caller', async () => {
    const about = { agent: 'reviewer', session: 'ses_2', call: 'c1' }
    const { fetch } = fakeServer([
      ending(
        event(1, 'agent_invoked', about),
        event(2, 'agent_result', { ...about, state: 'completed' }),
        finished(3),
      ),
      ending(event(1, 'tool_started', { tool: 'files__read', input: {} })),
    ])
    const { stderr } = await isola(['chat'], { env, fetch, input: 'review\n' })
    expect(stderr).toContain(
      '· agent reviewer begins (ses_2)\n    · files__read {}\n  agent reviewer completed\n',
    )
  })

  it('goes on in a session that was named, and first follows the run that works there', async () => {
    const live = { runs: [{ id: run, state: 'running' }] }
    const { asked, fetch } = fakeServer([ending(said(1, 'Was at it.'), finished(2))], live)
    const { code, stdout } = await isola(['chat', '--session', session], { env, fetch })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Was at it.\n' })
    expect(asked.map(({ method }) => method)).not.toContain('POST')
  })

  it('knows /session, /help and /quit, names the near one, and sends none of them', async () => {
    const { asked, fetch } = fakeServer([])
    const input = '/session\n/help\n/qiut\n/cancel\n\n/quit\nnever sent\n'
    const { code, stderr } = await isola(['chat'], { env, fetch, input })
    expect(code).toBe(0)
    expect(stderr).toContain(`\n${session}\n`)
    expect(stderr).toContain('There is no /qiut. Did you mean /quit?')
    expect(stderr).toContain('Nothing runs.')
    expect(asked.filter(({ method }) => method === 'POST')).toHaveLength(1) // the session
  })

  it('sends what begins with two slashes with one', async () => {
    const { asked, fetch } = fakeServer([ending(finished(1))])
    await isola(['chat'], { env, fetch, input: '//etc is a folder\n' })
    expect(asked.find(({ path }) => path.endsWith('/runs'))?.body).toMatchObject({
      task: '/etc is a folder',
    })
  })

  it('refuses --agent for a session that has one', async () => {
    const { code } = await isola(['chat', '--session', session, '--agent', 'x'], {
      env,
      fetch: fakeServer([]).fetch,
    })
    expect(code).toBe(2)
  })

  it('lets no model write to the terminal but text', async () => {
    const { fetch } = fakeServer([
      ending(delta(0, 'a\u001b[2J'), said(1, 'a\u001b[2Jb\u009d'), finished(2)),
    ])
    const { stdout } = await isola(['chat'], { env, fetch, input: 'hi\n' })
    expect(stdout).toBe('a[2Jb\n')
  })

  it('tells the events as JSON lines with --json', async () => {
    const { fetch } = fakeServer([ending(delta(0, 'Hi'), said(1, 'Hi'), finished(2))])
    const { stdout } = await isola(['chat', '--json'], { env, fetch, input: 'hi\n' })
    const types = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Item).type)
    expect(types).toEqual(['message_finished', 'run_finished'])
  })
})

describe('isola session', () => {
  it('exports tree, transcript and events as JSON lines, though the stream breaks on the way', async () => {
    const { asked, fetch } = fakeServer([
      connection([said(1, 'a')], said(2, 'b')),
      ending(said(2, 'b'), finished(3)),
    ])
    const { code, stdout } = await isola(['session', 'export', session], { env, fetch })
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; value: Item })
    expect(code).toBe(0)
    expect(lines.map(({ kind }) => kind)).toEqual(['tree', 'message', 'event', 'event', 'event'])
    expect(lines.slice(2).map(({ value }) => value['seq'])).toEqual([1, 2, 3])
    expect(asked.at(-1)?.lastEventId).toBe('1')
  })

  it('deletes nothing unasked: without a terminal it wants --yes', async () => {
    const { asked, fetch } = fakeServer([])
    expect((await isola(['session', 'delete', session], { env, fetch })).code).toBe(2)
    expect(asked).toEqual([])
    expect((await isola(['session', 'delete', session, '--yes'], { env, fetch })).code).toBe(0)
    expect(asked).toMatchObject([{ method: 'DELETE', path: `/api/sessions/${session}` }])
  })
})
