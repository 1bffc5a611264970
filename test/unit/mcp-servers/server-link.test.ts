import { describe, expect, it } from 'vitest'
import { IsolaError } from '../../../src/contracts/errors.ts'
import { replied } from '../../../src/features/mcp-servers/server-parts.ts'
import { createSentSecrets } from '../../../src/features/mcp-servers/sent-secrets.ts'
import { createReplyRedactor } from '../../../src/features/plugins/secrets/reply-redactor.ts'
import { createLinkWorld } from '../../fakes/mcp-link.ts'
import { createFakeMcp, RpcError } from '../../fakes/mcp-server.ts'

const sse = (...events: readonly object[]) =>
  new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })

describe('the connection to a server', () => {
  it.each(['modern', 'legacy'] as const)(
    'N12: goes on after the object slept with one request a call (%s)',
    async (era) => {
      const server = createFakeMcp({ era })
      const world = createLinkWorld(server)
      const item = await world.itemOf('say')
      world.sleep()
      server.seen.length = 0
      expect(await world.callTool(item, { text: 'hi' })).toMatchObject({ ok: true })
      expect(server.methods()).toEqual(['tools/call'])
    },
  )

  it.each(['modern', 'legacy'] as const)(
    'F22: a stream that ends without the answer ends the call, however long it may take (%s)',
    async (era) => {
      const half = 'data: {"jsonrpc":"2.0","id":2,"resul'
      const broken = () =>
        new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(half))
            setTimeout(() => controller.error(new Error('reset')), 5)
          },
        })
      for (const body of [half, broken, 'data: {"jsonrpc":"2.0","id":77,"result":{}}\n\n', '']) {
        const said = () => (typeof body === 'string' ? body : body())
        const stream = () =>
          new Response(said(), { headers: { 'content-type': 'text/event-stream' } })
        const world = createLinkWorld(createFakeMcp({ era, more: { 'tools/call': stream } }))
        const result = await world.callTool(await world.itemOf('say'), {}, 600_000)
        expect(result).toMatchObject({
          ok: false,
          error: {
            code: 'tool_failed',
            message: 'The MCP server srv ended its answer before it was whole.',
          },
        })
      }
    },
  )

  it('begins a new session where the old one is gone, looks at the list again, and calls once', async () => {
    const server = createFakeMcp({ era: 'legacy' })
    const world = createLinkWorld(server)
    const item = await world.itemOf('say')
    server.state.session = 'two'
    server.seen.length = 0
    expect(await world.callTool(item)).toMatchObject({ ok: true })
    const calls = server.seen.filter(({ method }) => method === 'tools/call')
    expect(calls.map(({ headers }) => headers.get('mcp-session-id'))).toEqual(['one', 'two'])
    expect(server.methods()).toContain('tools/list')
  })

  it('F22: a server that vanished is a tool error, is not asked by everyone at once, and comes back', async () => {
    let nowMs = 1_000_000
    const clock = { nowMs: () => nowMs, sleep: () => new Promise<void>(() => {}) }
    const server = createFakeMcp()
    const world = createLinkWorld(server, { clock })
    const item = await world.itemOf('say')
    server.state.isDown = true
    expect(await world.callTool(item)).toMatchObject({
      ok: false,
      error: {
        code: 'tool_failed',
        message: 'The MCP server srv could not be reached.',
        transient: true,
      },
    })
    const before = world.asked.length
    for (let time = 0; time < 5; time += 1)
      expect(await world.callTool(item)).toMatchObject({
        error: { code: 'tool_failed', message: expect.stringContaining('in a moment') },
      })
    expect(world.asked).toHaveLength(before)
    nowMs += 1_001
    await world.callTool(item)
    nowMs += 1_001
    const later = world.asked.length
    await world.callTool(item)
    expect(world.asked).toHaveLength(later)
    server.state.isDown = false
    nowMs += 60_000
    expect(await world.callTool(item)).toMatchObject({ ok: true })
  })

  const large = () =>
    new Response(`{"x":"${'x'.repeat(5 * 1024 * 1024)}"}`, {
      headers: { 'content-type': 'application/json' },
    })
  it.each<readonly [string, () => unknown]>([
    ['an answer of HTTP 500', () => new Response(null, { status: 500 })],
    ['what is no answer', () => ({ resultType: 'complete', content: 1 })],
    ['more than 4 MiB', large],
  ])('F22: %s to one call leaves the calls of others, and the next, alone', async (_what, bad) => {
    let finish = (_result: object) => {}
    const slow = new Promise<object>((resolve) => (finish = resolve))
    const server = createFakeMcp({
      tools: [{ name: 'slow' }, { name: 'bad' }, { name: 'good' }],
      more: {
        'tools/call': ({ name }) =>
          name === 'slow'
            ? slow
            : name === 'bad'
              ? bad()
              : { resultType: 'complete', content: [{ type: 'text', text: 'hi' }] },
      },
    })
    const world = createLinkWorld(server)
    const good = await world.itemOf('good')
    const waiting = world.callTool(await world.itemOf('slow'))
    await expect.poll(() => server.methods().at(-1)).toBe('tools/call')
    expect(await world.callTool(await world.itemOf('bad'))).toMatchObject({ ok: false })
    expect(await world.callTool(good)).toMatchObject({ ok: true })
    finish({ resultType: 'complete', content: [] })
    expect(await waiting).toMatchObject({ ok: true })
  })

  it('F22: a connection that is lost for one call is not closed under the others, and counts once', async () => {
    let finish = (_result: object) => {}
    const slow = new Promise<object>((resolve) => (finish = resolve))
    let nowMs = 1_000_000
    const clock = { nowMs: () => nowMs, sleep: () => new Promise<void>(() => {}) }
    const server = createFakeMcp({
      tools: [{ name: 'slow' }, { name: 'good' }],
      more: {
        'tools/call': ({ name }) =>
          name === 'slow' ? slow : { resultType: 'complete', content: [] },
      },
    })
    const world = createLinkWorld(server, { clock })
    const good = await world.itemOf('good')
    const waiting = world.callTool(await world.itemOf('slow'))
    await expect.poll(() => server.methods().at(-1)).toBe('tools/call')
    server.state.isDown = true
    const lost = await Promise.all([1, 2, 3, 4].map(() => world.callTool(good)))
    for (const one of lost) expect(one).toMatchObject({ ok: false })
    server.state.isDown = false
    nowMs += 1_001
    expect(await world.callTool(good)).toMatchObject({ ok: true })
    finish({ resultType: 'complete', content: [] })
    expect(await waiting).toMatchObject({ ok: true })
  })

  it('T14: a connection that begins anew looks at the list again before it calls', async () => {
    let nowMs = 1_000_000
    const clock = { nowMs: () => nowMs, sleep: () => new Promise<void>(() => {}) }
    const server = createFakeMcp()
    const world = createLinkWorld(server, { clock })
    const item = await world.itemOf('say')
    server.state.isDown = true
    await world.callTool(item)
    server.state.isDown = false
    server.state.tools = [{ name: 'say', description: 'Says it, and more.' }]
    nowMs += 1_001
    expect(await world.callTool(item)).toMatchObject({ error: { code: 'tool_denied' } })
  })

  it('F22: a server that does not answer, or with another id, is a timeout of ours', async () => {
    for (const answer of [
      () => new Promise(() => {}),
      () => Response.json({ jsonrpc: '2.0', id: 4711, result: { content: [] } }),
      () =>
        sse({
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'info', data: 1 },
        }),
    ]) {
      const server = createFakeMcp({ more: { 'tools/call': answer } })
      const world = createLinkWorld(server)
      const item = await world.itemOf('say')
      const atMs = Date.now()
      expect(await world.callTool(item, {}, 300)).toMatchObject({ ok: false })
      expect(Date.now() - atMs).toBeLessThan(1_500)
    }
  })

  it('I15: a call is cancelled by its id, and the request with it', async () => {
    let signal: AbortSignal | undefined
    const server = createFakeMcp({ more: { 'tools/call': () => new Promise(() => {}) } })
    const world = createLinkWorld({
      url: server.url,
      answer: (request) => {
        signal = request.signal
        return server.answer(request)
      },
    })
    const call = world.callOf(await world.itemOf('say'), { do: 'tool', input: {} })
    const answer = world.call(call)
    await expect.poll(() => server.methods().at(-1)).toBe('tools/call')
    world.cancel('another')
    world.cancel(call.callId)
    expect(await answer).toMatchObject({ ok: false, error: { code: 'tool_cancelled' } })
    await expect.poll(() => signal?.aborted).toBe(true)
  })

  it('tells how far a call is', async () => {
    const server = createFakeMcp({
      more: {
        'tools/call': (params) => {
          const { progressToken } = Object(params['_meta'])
          const note = { progressToken, progress: 1, total: 2, message: 'half' }
          return sse({ jsonrpc: '2.0', method: 'notifications/progress', params: note })
        },
      },
    })
    const world = createLinkWorld(server)
    const told: unknown[] = []
    const call = world.callOf(await world.itemOf('say'), { do: 'tool', input: {} }, 300)
    await world.call(call, { tell: (progress) => told.push(progress) })
    expect(told).toEqual([{ progress: 1, total: 2, message: 'half' }])
  })

  it('N2: an answer is rich, and its own failure is a tool failure with its words capped', async () => {
    const answers: Record<string, object> = {
      good: {
        content: [{ type: 'text', text: 'hi' }],
        structuredContent: { a: 1 },
      },
      bad: { isError: true, content: [{ type: 'text', text: 'x'.repeat(9_000) }] },
    }
    const server = createFakeMcp({
      tools: [{ name: 'good' }, { name: 'bad' }],
      more: { 'tools/call': ({ name }) => ({ resultType: 'complete', ...answers[String(name)] }) },
    })
    const world = createLinkWorld(server)
    expect(await world.callTool(await world.itemOf('good'))).toEqual({
      ok: true,
      output: { content: [{ type: 'text', text: 'hi' }], structured: { a: 1 } },
    })
    const failed = await world.callTool(await world.itemOf('bad'))
    expect(failed).toMatchObject({ ok: false, error: { code: 'tool_failed' } })
    expect(JSON.stringify(failed).length).toBeLessThan(2_200)
  })

  it('T18: a server’s request to a person or a model is refused', async () => {
    const server = createFakeMcp({
      more: {
        'tools/call': () => ({
          resultType: 'input_required',
          inputRequests: {
            a: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
          },
        }),
      },
    })
    const world = createLinkWorld(server)
    expect(await world.callTool(await world.itemOf('say'))).toMatchObject({
      ok: false,
      error: { code: 'tool_failed' },
    })
    const { _meta } = Object(server.seen.at(-1)?.params)
    expect(_meta['io.modelcontextprotocol/clientCapabilities']).toEqual({})
  })
})

it('T4: the errors of looking and of signing in hold no secret either', async () => {
  const secrets = createSentSecrets((values) => createReplyRedactor(values).text)
  secrets.add('sk_canary_51Hq8ZxKTbN0')
  const about = { id: 'srv', auth: 'headers' as const, fromText: secrets.fromText }
  for (const code of ['request_invalid', 'tool_failed'] as const)
    expect(
      await replied(about, async () => {
        throw new IsolaError(code, 'You sent sk_canary_51Hq8ZxKTbN0.')
      }),
    ).toMatchObject({ error: { message: 'You sent [redacted].' } })
})

it('T4: a short secret is taken out of what is said, and leaves our own names as they are', () => {
  const secrets = createSentSecrets((values) => createReplyRedactor(values).text)
  for (const value of ['ok', 'content', 'true', '7']) secrets.add(value)
  const said = {
    ok: true,
    output: { content: [{ type: 'text', text: 'it is ok, 7 of 7' }] },
    at: 77,
  }
  const left = secrets.fromJson(said)
  expect(left).toMatchObject({ ok: true, output: { content: [{ type: 'text' }] }, at: 77 })
  expect(JSON.stringify(left)).not.toContain('is ok')
})

it('T4: a long secret is taken out of names and numbers too', () => {
  const secrets = createSentSecrets((values) => createReplyRedactor(values).text)
  for (const value of ['sk_canary_51Hq8ZxKTbN0', '8675309867']) secrets.add(value)
  const left = JSON.stringify(
    secrets.fromJson({ structured: { sk_canary_51Hq8ZxKTbN0: 8675309867, list: [8675309867] } }),
  )
  expect(left).not.toMatch(/canary|8675309867/)
})

it('T4: of what was sent the newest is kept in mind, and what is sent each time', () => {
  let kept: readonly string[] = []
  const secrets = createSentSecrets((values) => {
    kept = kept.length > 0 ? kept : [...values]
    return (text) => text
  })
  for (let count = 0; count < 100; count += 1) {
    secrets.add('each-time')
    secrets.add(`token-${count}`)
  }
  secrets.fromText('x')
  expect(kept).toHaveLength(24)
  expect(kept).toContain('each-time')
  expect(kept).toContain('token-99')
})

describe('T4: a secret that opens a server', () => {
  const value = 'sk_canary_51Hq8ZxKTbN0'
  const encoded = btoa(`user:${value}`)
  const says = { name: 'say', description: `You sent ${value}.`, inputSchema: { type: 'object' } }
  const open = (call: (progressToken: unknown) => unknown) =>
    createLinkWorld(
      createFakeMcp({
        tools: [says],
        instructions: `Your key is ${value}.`,
        more: {
          'tools/call': ({ _meta }) =>
            call((_meta as { readonly progressToken: unknown }).progressToken),
        },
      }),
      { readSecrets: async () => new Map([['KEY', value]]) },
      { headers: { authorization: 'Bearer ${secret:KEY}' } },
    )
  const blocks = [{ type: 'text', text: `echo ${value} and ${encoded}` }]

  it('is in nothing that the server says of itself', async () => {
    const listing = JSON.stringify(await open(() => ({})).look())
    expect(listing).toContain('[redacted]')
    expect(listing).not.toContain(value)
  })

  it.each([
    [
      'an answer',
      () => ({ resultType: 'complete', content: blocks, structuredContent: { [value]: encoded } }),
    ],
    ['a failure', () => ({ resultType: 'complete', isError: true, content: blocks })],
    [
      'a refusal',
      () => {
        throw new RpcError(`no ${value}, no ${encoded}`)
      },
    ],
  ])('is not in %s', async (_name, call) => {
    const world = open(call)
    const said = JSON.stringify(await world.callTool(await world.itemOf('say')))
    expect(said).toContain('[redacted]')
    expect(said).not.toContain(value)
    expect(said).not.toContain(encoded.slice(8, 30))
  })

  it('is not in what it says of its progress', async () => {
    const world = open((progressToken) =>
      sse(
        {
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken, progress: 1, message: value },
        },
        { jsonrpc: '2.0', id: 2, result: { resultType: 'complete', content: [] } },
      ),
    )
    const item = await world.itemOf('say')
    const told: unknown[] = []
    await world.call(world.callOf(item, { do: 'tool', input: {} }, 300), {
      tell: (progress) => told.push(progress),
    })
    expect(told).toEqual([{ progress: 1, message: '[redacted]' }])
  })
})
