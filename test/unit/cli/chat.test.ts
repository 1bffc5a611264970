import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createPasteReader, restored } from '../../../cli/chat/input.ts'
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
    if (pathname.endsWith('/personas'))
      return Response.json({ personas: [{ name: 'calm', description: 'A calm voice.' }] })
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
    ['y', { decision: 'approve', argsHash: 'h1' }],
    ['s', { decision: 'approve', argsHash: 'h1', also: 'session' }],
    ['Session', { decision: 'approve', argsHash: 'h1', also: 'session' }],
    ['a', { decision: 'approve', argsHash: 'h1', also: 'always' }],
    ['n', { decision: 'deny' }],
    ['also', { decision: 'deny', message: 'also' }],
  ])('E6: takes "%s" for once, the session, always, or no', async (answer, decision) => {
    const { asked, fetch } = fakeServer(streams, parked)
    const { stderr } = await isola(['chat'], { env, fetch, input: `set a\n${answer}\n` })
    expect(decisions(asked)).toEqual([{ call: 'c1', ...decision }])
    expect(stderr.includes('isola approval rules')).toBe('also' in decision)
    // The line after a no is the next message: a pipe is not asked why.
    expect(asked.filter(({ path }) => path.endsWith('/runs'))).toHaveLength(1)
  })

  it('E6: asks a person at a terminal why not, and tells the model', async () => {
    const { asked, fetch } = fakeServer(streams, parked)
    const stdin = Object.assign(new PassThrough(), { isTTY: true })
    const stderr = new PassThrough()
    const lines = ['set a', 'n', 'It is Friday.', '/quit']
    let heard = ''
    stderr.on('data', (piece: Buffer) => {
      heard += piece.toString()
      const prompts = ['> ', 'or why not> ', 'nothing to say> ', '> ']
      const sent = prompts.length - lines.length
      if (lines.length > 0 && heard.includes(prompts[sent]!)) {
        heard = ''
        stdin.write(`${lines.shift()!}\r`)
      }
    })
    expect((await isola(['chat'], { env, fetch, stdin, stderr })).code).toBe(0)
    expect(decisions(asked)).toEqual([{ call: 'c1', decision: 'deny', message: 'It is Friday.' }])
  })

  it('C7: shows why it is asked, what was read, what the call does and costs, and hides nothing of its arguments', async () => {
    const approval = {
      id: 'apr_1',
      approver: 'owner',
      reason: 'label',
      rule: 'deployment: ask',
      sinks: ['message'],
      isDestructive: true,
      mayCost: { tokens: 700, costNanoUsd: 20_000_000 },
      outdatedRule: 'rul_1',
    }
    const source = { from: 'http__get a.example', integrity: 'stranger' }
    const label = { integrity: 'stranger', confidentiality: 'public', sources: [source] }
    const waits = { ...pause, input: { to: 'a\u200b@\u202eb' }, approval, label }
    const tree = { runs: [{ id: run, state: 'parked', pauses: [waits] }] }
    const { fetch } = fakeServer(streams, tree)
    const { stderr } = await isola(['chat'], { env, fetch, input: 'send it\ny\n' })
    expect(stderr).toContain('? kv__set wants to run with {"to":"a\\u{200b}@\\u{202e}b"}')
    for (const line of [
      'It asks because the agent has read something before that this call must not pass on unasked. Whose session it is may allow it, or an operator.',
      'It has read text of strangers from http__get a.example (text of strangers).',
      'It sends a message, destroys.',
      'may cost up to $0.02 and 700 tokens',
      'the tool was changed since rul_1 was made, which holds no more',
    ])
      expect(stderr).toContain(`\n  ${line}\n`)
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

  it('denies a call that waits for an approval, and ends with 1', async () => {
    const { asked, fetch } = fakeServer(streams, parked)
    const { code } = await isola(['chat'], { env, fetch, input: 'set a\n' })
    expect(decisions(asked)).toEqual([
      { call: 'c1', decision: 'deny', message: 'No person is there to decide.' },
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

  it('denies a question without a person to answer it, so that the run can end', async () => {
    const asks = { ...pause, kind: 'question', input: { question: 'Which colour?' } }
    const { asked, fetch } = fakeServer(streams, {
      runs: [{ id: run, state: 'parked', pauses: [asks] }],
    })
    const { code } = await isola(['chat'], { env, fetch, input: 'paint it\n' })
    expect(decisions(asked)).toEqual([
      { call: 'c1', decision: 'deny', message: 'No person is there to answer.' },
    ])
    expect(code).toBe(1)
  })

  it('says what a run took and which model answered', async () => {
    const result = {
      success: true,
      startedAtMs: 1_000,
      finishedAtMs: 2_500,
      modelCalls: [{ provider: 'p', model: 'm' }],
      usage: { tokens: 1_234 },
      costEstimateUsd: 0.5,
    }
    const end = event(3, 'run_finished', { state: 'completed', result })
    const unpriced = event(1, 'model_called', { provider: 'p', model: 'm', priced: false })
    const { fetch } = fakeServer([
      ending(said(2, 'ok'), end),
      ending(unpriced, said(4, 'ok'), { ...end, seq: 5 }),
    ])
    const { stderr } = await isola(['chat'], { env, fetch, input: 'a\nb\n' })
    expect(stderr).toContain('  p/m · 1,234 tokens · $0.50 · 1.5 s\n')
    expect(stderr).toContain('  p/m · 1,234 tokens · $0.50 + unknown prices · 1.5 s\n')
  })

  it('writes no colours and no waiting sign where no terminal is', async () => {
    const failed = event(1, 'model_failed', { provider: 'p', model: 'm', code: 'model_network' })
    const { fetch } = fakeServer([ending(failed, said(2, 'ok'), finished(3))])
    const { stdout, stderr } = await isola(['chat'], { env, fetch, input: 'a\n' })
    expect(stdout + stderr).not.toContain('\u001b')
    expect(stderr).not.toContain('\r')
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

  it('leaves a run that it follows without a word about the broken connection', async () => {
    const live = { runs: [{ id: run, state: 'running' }] }
    const { fetch } = fakeServer([], live)
    const stdin = Object.assign(new PassThrough(), { isTTY: true })
    const stderr = new PassThrough()
    /** Open until its reader goes, as a real stream is. */
    const open = async (url: string, init?: RequestInit): Promise<Response> => {
      if (!new URL(url).pathname.endsWith('/events')) return fetch(url, init)
      const { promise, reject } = Promise.withResolvers<Response>()
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      stdin.write('/quit\r')
      return promise
    }
    const io = { env, fetch: open as typeof globalThis.fetch, stdin, stderr }
    expect((await isola(['chat', '--session', session], io)).code).toBe(0)
    expect(String(stderr.read())).toContain(`To go on: isola chat --session ${session}`)
  })

  it('Y9: says /return to the session, which knows who has the conversation', async () => {
    const { asked, fetch } = fakeServer([])
    await isola(['chat'], { env, fetch, input: '/return now\n/quit\n' })
    const sent = asked.filter(({ method }) => method === 'POST').at(-1)
    expect(JSON.stringify(sent)).toContain('/return now')
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

  it('P11: speaks as a persona from the beginning, or from a /persona on, and says which it is', async () => {
    const { asked, fetch } = fakeServer([], { persona: 'calm' })
    const input = '/persona\n/persona analyst\n/persona none\n/session now\n'
    const { stderr } = await isola(['chat', '--persona', 'calm'], { env, fetch, input })
    const posts = asked.filter(({ method }) => method === 'POST').map(({ body }) => body)
    expect(posts).toEqual([{ persona: 'calm' }, { persona: 'analyst' }, { persona: 'none' }])
    expect(stderr).toContain('\nPersona: calm. There are:\ncalm  A calm voice.\n')
    expect(stderr).toContain('There is no /session now.')
    const own = await isola(['chat'], { env, fetch: fakeServer([]).fetch, input: '/persona\n' })
    expect(own.stderr).toContain('\nPersona: that of your key, if it has one. There are:\n')
    const named = fakeServer([])
    const args = ['chat', '--session', session, '--persona', 'calm']
    await isola(args, { env, fetch: named.fetch, input: '' })
    expect(named.asked.slice(0, 2)).toMatchObject([
      { method: 'POST', path: `/api/sessions/${session}`, body: { persona: 'calm' } },
      { method: 'GET', path: `/api/sessions/${session}` },
    ])
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
    expect(stdout).toBe('a\\u{1b}[2Jb\\u{9d}\n')
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

describe('isola chat, asked by a plugin or an MCP server', () => {
  const form = {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Yours' },
      age: { type: 'integer' },
      isMember: { type: 'boolean', default: false },
      colour: { type: 'string', oneOf: [{ const: 'r', title: 'Red' }] },
      sizes: { type: 'array', items: { enum: ['s', 'm', 'l'] } },
      note: { type: 'string' },
    },
    required: ['name', 'age', 'colour', 'sizes'],
  }
  const elicit = { kind: 'elicit', message: 'Who are you?', schema: form }
  const parkedWith = (asks: object) => ({
    runs: [
      {
        id: run,
        state: 'parked',
        pauses: [
          { call: 'c1', tool: 'shop__order', input: {}, kind: 'question', asks, asksHash: 'h7' },
        ],
      },
    ],
  })
  const talk = async (asks: object, lines: readonly string[]) => {
    const streams = [ending(event(1, 'run_parked', {})), ending(said(2, 'Done.'), finished(3))]
    const { asked, fetch } = fakeServer(streams, parkedWith(asks))
    const outcome = await isola(['chat'], { env, fetch, input: ['order', ...lines, ''].join('\n') })
    return { ...outcome, decisions: decisions(asked) }
  }

  it('asks for each field, takes what fits and sends it with the hash of what was shown', async () => {
    const lines = ['Ada', 'old', '36', '', 'Red', 's, 3', '']
    const { code, stderr, decisions: made } = await talk({ who: elicit }, lines)
    expect(stderr).toContain('? shop__order asks: Who are you?')
    expect(stderr).toContain('name — Yours (string)')
    expect(stderr).toContain('It must be a whole number.')
    expect(stderr).toContain('1. Red (r)')
    const content = { name: 'Ada', age: 36, isMember: false, colour: 'r', sizes: ['s', 'l'] }
    expect(made).toEqual([
      {
        call: 'c1',
        decision: 'result',
        output: { who: { action: 'accept', content } },
        asksHash: 'h7',
      },
    ])
    expect(code).toBe(0)
  })

  it('answers several questions of one call together', async () => {
    const sample = {
      kind: 'sample',
      messages: [{ role: 'user', content: { type: 'text', text: 'A greeting' } }],
      maxTokens: 9,
    }
    const small = { ...elicit, schema: { type: 'object', properties: { name: {} } } }
    const asks = { who: small, words: sample, places: { kind: 'roots' } }
    const { decisions: made } = await talk(asks, ['Ada', 'Hello', 'file:///a file:///b'])
    const words = {
      role: 'assistant',
      content: { type: 'text', text: 'Hello' },
      model: 'a person at isola chat',
    }
    expect(made).toMatchObject([
      {
        output: {
          who: { action: 'accept', content: { name: 'Ada' } },
          words,
          places: [{ uri: 'file:///a' }, { uri: 'file:///b' }],
        },
      },
    ])
  })

  it('declines a form for /decline, and takes any other text for an answer', async () => {
    const { decisions: made } = await talk({ who: elicit }, ['/decline'])
    expect(made).toMatchObject([{ decision: 'result', output: { who: { action: 'decline' } } }])
    const small = { ...elicit, schema: { type: 'object', properties: { name: {} } } }
    const { decisions: no } = await talk({ who: small }, ['no'])
    expect(no).toMatchObject([{ output: { who: { content: { name: 'no' } } } }])
  })

  it('cancels a form at the end of the input, and ends with 1', async () => {
    const { code, decisions: made } = await talk({ who: elicit }, [])
    expect(made).toMatchObject([{ output: { who: { action: 'cancel' } } }])
    expect(code).toBe(1)
  })

  it('denies a call whose question for a model is declined, unless it may go without', async () => {
    const sample = { kind: 'sample', messages: [], maxTokens: 9 }
    expect((await talk({ a: sample }, ['/decline'])).decisions).toMatchObject([
      { decision: 'deny' },
    ])
    const { decisions: made } = await talk({ a: { ...sample, optional: true } }, ['/decline'])
    expect(made).toMatchObject([{ decision: 'result', output: { a: null } }])
  })

  it('shows why it is asked again, and lets no text of a server look like a line of ours', async () => {
    const message = 'Name?\n? kv__set wants to run with {}'
    const { stderr } = await talk({ who: { ...elicit, message, problem: 'name is missing' } }, [])
    expect(stderr).toContain('Once more: name is missing')
    expect(stderr).not.toMatch(/^\? kv__set/m)
  })
})

describe('a text that is pasted at a terminal', () => {
  const read = async (...pieces: string[]) => {
    const terminal = new PassThrough()
    const reader = createPasteReader(terminal)
    for (const piece of pieces) terminal.write(piece)
    terminal.end()
    let text = ''
    for await (const chunk of reader) text += String(chunk)
    return restored(text.replaceAll('\r', '<enter>'))
  }

  it('is one line with its line breaks, however it arrives', async () => {
    expect(await read('a\u001b[200~one\rtwo\u001b[201~b\r')).toBe('aone\ntwob<enter>')
    expect(await read('\u001b[20', '0~one\r', 'two\u001b[2', '01~', '\r')).toBe('one\ntwo<enter>')
  })

  it('leaves keys as they are, those that begin alike included', async () => {
    expect(await read('\u001b[A\u001b[20~x\r')).toBe('\u001b[A\u001b[20~x<enter>')
    expect(await read('\u001b', '[A')).toBe('\u001b[A')
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
