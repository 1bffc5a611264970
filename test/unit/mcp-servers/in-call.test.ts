import { describe, expect, it } from 'vitest'
import type { McpAsked, McpCaller } from '../../../src/runtime/catalog/types/mcp.ts'
import {
  elicit,
  form,
  legacy,
  modern,
  modernOf,
  overSession,
  sample,
} from '../../fakes/mcp-asking.ts'
import { createInCall } from '../../../src/features/mcp-servers/in-call.ts'
import { createLinkWorld } from '../../fakes/mcp-link.ts'
import { createFakeMcp } from '../../fakes/mcp-server.ts'

const answered = (name: string) =>
  ({ state: 'answered', answer: { action: 'accept', content: { name } } }) as const

async function open(server: Parameters<typeof createLinkWorld>[0], allow: object) {
  const world = createLinkWorld(server, {}, { allow: { elicitation: false, ...allow } })
  const item = await world.itemOf('say')
  const heard: McpAsked[] = []
  return {
    heard,
    sleep: world.sleep,
    call: (text: string, answer: McpCaller['asked']) =>
      world.call(world.callOf(item, { do: 'tool', input: { text } }), {
        asked: (asked) => {
          heard.push(asked)
          return answer(asked)
        },
      }),
  }
}

const textOf = (result: unknown): string => JSON.stringify(result)

describe('what a server asks in the middle of a call', () => {
  it('T18: is answered by the caller, all of it at once (2026-07-28)', async () => {
    const server = createFakeMcp(modern({ a: elicit('A?'), b: elicit('B?') }))
    const { call, heard } = await open(server, { elicitation: true })
    const result = await call('x', async (asked) =>
      answered(asked.kind === 'elicit' ? asked.message : ''),
    )
    expect(heard).toMatchObject([
      { kind: 'elicit', message: 'A?', schema: form },
      { kind: 'elicit', message: 'B?' },
    ])
    expect(textOf(result)).toContain('B?')
  })

  it.each(['modern', 'legacy'])(
    'T18: is heard as of the call over whose stream it came, though many share a connection (%s)',
    async (era) => {
      const server = era === 'legacy' ? legacy(elicit) : createFakeMcp(modernOf(elicit))
      const { call } = await open(server, { elicitation: true })
      const names = ['one', 'two', 'three']
      const results = await Promise.all(
        names.map((name) =>
          call(name, async (asked) =>
            answered(asked.kind === 'elicit' ? `${name} ${asked.message}` : ''),
          ),
        ),
      )
      for (const [index, name] of names.entries())
        expect(textOf(results[index])).toContain(`${name} ${name}`)
    },
  )

  it.each(['modern', 'legacy'] as const)(
    'E6: ends the call if a person has to answer first, once all of it was heard, and the server gets no answer (%s)',
    async (era) => {
      const server =
        era === 'legacy'
          ? legacy(elicit)
          : createFakeMcp(modern({ a: elicit('A?'), b: elicit('B?') }))
      const { call, heard } = await open(server, { elicitation: true })
      const result = await call('x', async () => ({ state: 'later' }))
      expect(result).toMatchObject({ ok: false, error: { code: 'tool_pending' } })
      expect(heard).toHaveLength(era === 'legacy' ? 1 : 2)
      // Longer than an error would take to get there.
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(server.state.said).toEqual([])
      expect(server.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
    },
  )

  it('T18: a model is asked only where that is allowed, and a refusal is an error to the server', async () => {
    const { call, heard } = await open(
      legacy(() => sample),
      {
        sampling: { maxTokens: 100 },
      },
    )
    const content = { type: 'text', text: 'It is short.' }
    const said = await call('x', async () => ({
      state: 'answered',
      answer: { role: 'assistant', content, model: 'a/b' },
    }))
    expect(heard).toMatchObject([{ kind: 'sample', maxTokens: 9 }])
    expect(textOf(said)).toContain('It is short.')
    const refused = await call('x', async () => ({ state: 'refused', why: 'Not today.' }))
    expect(textOf(refused)).toContain('Not today.')
  })

  it.each(['modern', 'legacy'] as const)(
    'T18: reaches nobody where nothing is allowed (%s)',
    async (era) => {
      for (const request of [elicit('Your password?'), sample]) {
        const server =
          era === 'legacy' ? legacy(() => request) : createFakeMcp(modern({ a: request }))
        const { call, heard } = await open(server, {})
        await call('x', async () => answered('Ann'))
        expect(heard).toEqual([])
        expect(textOf(server.seen.map(({ params }) => params))).not.toMatch(
          /"elicitation"|"sampling"/,
        )
        expect(textOf(server.state.said)).not.toContain('Ann')
      }
    },
  )

  it('T18: is refused where there is no call that it could be about', async () => {
    const server = createFakeMcp({
      era: 'legacy',
      more: {
        'tools/list': (_params, { id }) => {
          const events = [
            { id: 'early', ...elicit('Your name?') },
            { id, result: { tools: [{ name: 'say', inputSchema: { type: 'object' } }] } },
          ].map((one) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...one })}\n\n`)
          const headers = { 'content-type': 'text/event-stream' }
          return new Response(events.join(''), { headers })
        },
      },
    })
    const { heard } = await open(server, { elicitation: true })
    await expect.poll(() => server.state.said).toMatchObject([{ id: 'early', error: {} }])
    expect(heard).toEqual([])
  })

  it('is heard over the stream of the session too, also after the object slept, if one call is under way', async () => {
    const server = overSession(elicit)
    const { call, sleep } = await open(server, { elicitation: true })
    expect(textOf(await call('x', async () => answered('Ann')))).toContain('Ann')
    sleep()
    server.seen.length = 0
    expect(textOf(await call('x', async () => answered('Ben')))).toContain('Ben')
    expect(textOf(await call('x', async () => answered('Cid')))).toContain('Cid')
    expect(server.methods()).not.toContain('initialize')
  })

  it('T18: is refused there if it could be about another call', async () => {
    const { call, heard } = await open(overSession(elicit), { elicitation: true })
    const results = await Promise.all(['a', 'b'].map((one) => call(one, async () => answered(one))))
    expect(heard).toEqual([])
    expect(textOf(results)).toContain('not known which call')
  })

  it('T18: is refused there once a call ended without its answer: it may be that call’s', async () => {
    const server = overSession(elicit)
    const { call, heard } = await open(server, { elicitation: true })
    expect(await call('a', async () => ({ state: 'later' }))).toMatchObject({ ok: false })
    await expect.poll(server.streams).toBe(0)
    const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: mayAnswer, resolve: goOn } = Promise.withResolvers<void>()
    const next = call('b', async () => {
      ask()
      await mayAnswer
      return answered('Ben')
    })
    await isAsked
    goOn()
    expect(textOf(await next)).toContain('Ben')
    // In a session of its own: what the one before may ask yet does not reach it.
    expect(server.methods().filter((method) => method === 'initialize')).toHaveLength(2)
    expect(heard).toHaveLength(2)
  })

  it('T18: is refused there while two calls were under way, also when one of them is left', async () => {
    const server = overSession(elicit)
    const { call, heard } = await open(server, { elicitation: true })
    const both = ['a', 'b'].map((one) => call(one, async () => answered(one)))
    await both[0]
    server.askNow('stray')
    await Promise.all(both)
    expect(heard).toEqual([])
  })

  it('G12: a cancel reaches a server that may ask, and the stream of its session ends', async () => {
    const server = overSession(elicit)
    const world = createLinkWorld(server, {}, { allow: { elicitation: true } })
    const call = world.callOf(await world.itemOf('say'), { do: 'tool', input: { text: 'x' } })
    const { promise: isAsked, resolve } = Promise.withResolvers<void>()
    const asked = () => {
      resolve()
      return new Promise<never>(() => {})
    }
    const result = world.call(call, { asked })
    await isAsked
    world.cancel(call.callId)
    expect(await result).toMatchObject({ error: { code: 'tool_cancelled' } })
    await expect.poll(server.methods).toContain('notifications/cancelled')
    await expect.poll(server.streams).toBe(0)
  })

  it('E6: a call that is denied leaves no stream open', async () => {
    const server = overSession(elicit)
    const world = createLinkWorld(server, {}, { allow: { elicitation: true } })
    const item = { ...(await world.itemOf('say')), hash: 'of another' }
    expect(await world.callTool(item)).toMatchObject({ error: { code: 'tool_denied' } })
    await expect.poll(server.streams).toBe(0)
  })

  it('T15: is heard so often and no more in one call', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`ask-${index}`, sample]),
    )
    const { call, heard } = await open(createFakeMcp(modern(many)), {
      sampling: { maxTokens: 100 },
    })
    await call('x', () => new Promise((resolve) => setTimeout(resolve, 20, answered('x'))))
    expect(heard).toHaveLength(32)
  })

  it('E6: a call that waits for an answer is over here as well', async () => {
    const inCall = createInCall()
    const stop = new AbortController()
    const params = { mode: 'form', message: 'Your name?', requestedSchema: form }
    const work = () => inCall.answer({ kind: 'elicit', params })
    await expect(inCall.run(async () => ({ state: 'later' }), stop, work)).rejects.toMatchObject({
      code: 'tool_cancelled',
    })
    expect(stop.signal.reason).toBe('later')
  })

  it('T18: a page to open, and tools for the model, are refused', async () => {
    const page = {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Open it', url: 'https://evil.example', elicitationId: '1' },
    }
    const tools = [{ name: 'x', inputSchema: { type: 'object' } }]
    for (const request of [page, { ...sample, params: { ...sample.params, tools } }]) {
      const { call, heard } = await open(
        legacy(() => request),
        {
          elicitation: true,
          sampling: { maxTokens: 100 },
        },
      )
      await call('x', async () => answered('Ann'))
      expect(heard).toEqual([])
    }
  })
})
