import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { connectModern } from '../fakes/mcp-clients.ts'
import {
  giveBack,
  handOver,
  installSupport,
  isOf,
  lastSaid,
  newSession,
  words,
} from '../fakes/support-agent.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const floorOf = async (session: string): Promise<Answer> =>
  (await callJson(`/api/sessions/${session}`)).floor
const never = Promise.withResolvers<void>().promise

/** The orchestrator hands over what is about an order; the desk gives it back when it hears "thanks". */
const desk =
  (id: string, more: UpstreamScript = () => ({})): UpstreamScript =>
  (request, index) => {
    const special = more(request, index)
    if (Object.keys(special).length > 0) return special
    const said = lastSaid(request)
    if (!isOf(id, request)) return said.includes('order') ? handOver(id) : { text: `own: ${said}` }
    return said.includes('thanks') ? giveBack('It was sent again.') : { text: `desk: ${said}` }
  }

describe('at /mcp', () => {
  it('Y9: a client that names its session goes on with the handoff agent, and gets the conversation back', async () => {
    await installSupport('desk-mcp')
    withModel(desk('desk-mcp'))
    await callJson('/api/operator/exposed', { json: { exposed: { agents: ['orchestrator'] } } })
    const client = await connectModern()
    const ask = async (task: string, session?: string): Promise<Answer> => {
      const input = { task, ...(session !== undefined && { session }) }
      const answer = await client.callTool({ name: 'orchestrator', arguments: input })
      return answer.structuredContent
    }
    const first = await ask('my order is lost')
    expect(first.result).toBe('desk: The user needs help with an order.')
    expect((await ask('number 7', first.session)).result).toBe('desk: number 7')
    expect(await floorOf(first.session)).toMatchObject({ holder: 'desk-mcp__run', messages: 1 })
    expect((await ask('thanks', first.session)).result).toBe('It was sent again.')
    expect((await ask('hello', first.session)).result).toBe('own: hello')
    // A client that names no session has a conversation of its own.
    expect((await ask('hello')).result).toBe('own: hello')
    await client.close()
    await callJson('/api/operator/exposed', { json: { exposed: {} } })
  })

  it('Y9: an agent’s own tool in a session without a name does its task once', async () => {
    await installSupport('desk-once')
    withModel(desk('desk-once'))
    await callJson('/api/operator/exposed', { json: { exposed: { tools: ['desk-once__run'] } } })
    const client = await connectModern()
    const input = { task: 'Find my order.' }
    const answer: Answer = await client.callTool({ name: 'desk-once__run', arguments: input })
    expect(JSON.stringify(answer.content)).toContain('desk: Find my order.')
    expect(JSON.stringify(upstream!.requests[0]!.tools ?? [])).not.toContain('isola__return')
    await client.close()
    await callJson('/api/operator/exposed', { json: { exposed: {} } })
  })
})

describe('a message that comes while the handoff agent works', () => {
  it('Y9, Y24: steers its run: both are answered, in their order, each once', async () => {
    await installSupport('desk-steer')
    const { promise, resolve } = Promise.withResolvers<void>()
    withModel(
      desk('desk-steer', (request) =>
        lastSaid(request) === 'first' ? { text: 'desk: first', wait: promise } : {},
      ),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'first' } })
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('first'))
    for (const message of ['second', 'third'])
      await callJson(`/api/sessions/${session}/runs/${run}/messages`, { json: { message } })
    resolve()
    await vi.waitFor(async () =>
      expect((await callJson(`/api/sessions/${session}/runs/${run}`)).state).toBe('completed'),
    )
    const heard = upstream!.requests.filter((one) => isOf('desk-steer', one))
    expect(heard.map(lastSaid).slice(1)).toEqual(['first', 'second\n\nthird'])
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    const said = messages.flatMap(({ by, text }: Answer) => (by ? [text] : []))
    expect(said).toEqual([
      'desk: The user needs help with an order.',
      'desk: first',
      'desk: second\n\nthird',
    ])
    expect(await words(session, 'fourth')).toBe('desk: fourth')
    expect(await floorOf(session)).toMatchObject({ state: 'held' })
  })

  it('Y9, Y24: once it was given back, what was said meanwhile does not keep it', async () => {
    await installSupport('desk-late')
    const { promise, resolve } = Promise.withResolvers<void>()
    withModel(
      desk('desk-late', (request) =>
        isOf('desk-late', request) && lastSaid(request) === 'thanks'
          ? { ...giveBack('It was sent again.'), wait: promise }
          : {},
      ),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'thanks' } })
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('thanks'))
    await callJson(`/api/sessions/${session}/runs/${run}/messages`, {
      json: { message: 'one more' },
    })
    resolve()
    await vi.waitFor(async () =>
      expect((await callJson(`/api/sessions/${session}/runs/${run}`)).state).toBe('completed'),
    )
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'returned' })
    expect(await words(session, 'and now')).toBe('own: and now')
  })
})

describe('a client that goes away', () => {
  it('E8: ends the message and the agent’s work, and the conversation stays with it', async () => {
    await installSupport('desk-close')
    withModel(
      desk('desk-close', (request) =>
        lastSaid(request) === 'slow' ? { text: 'x', wait: never } : {},
      ),
    )
    const headers = { 'x-isola-session': 'floor-close' }
    const chat = (content: string) =>
      call('/v1/chat/completions', {
        json: { model: 'orchestrator', stream: true, messages: [{ role: 'user', content }] },
        headers,
      })
    await readSse(await chat('my order is lost'))
    const stream = await chat('slow')
    const session = stream.headers.get('x-isola-session')!
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('slow'))
    await stream.body!.cancel()
    await vi.waitFor(
      async () => {
        const { runs, children } = await callJson(`/api/sessions/${session}`)
        expect([runs.at(-1).state, children[0].runs.at(-1).state]).toEqual([
          'cancelled',
          'cancelled',
        ])
      },
      { timeout: 30_000 },
    )
    const next = await readSse(await chat('number 7'))
    const pieces = next.flatMap(({ data }) => data.choices?.[0]?.delta?.content ?? [])
    expect(pieces.join('')).toBe('desk: number 7')
  })
})

describe('plain words', () => {
  it('Y9: an agent that is told that its user wants to go back knows how, and that it is to', async () => {
    await installSupport('desk-plain')
    withModel((request) => {
      if (!isOf('desk-plain', request)) return desk('desk-plain')(request, 0)
      const instructions = String(request.messages[0]?.content)
      // A model that follows its instructions word for word.
      const wants = lastSaid(request).includes('talk to the assistant again')
      const isTold = /isola__return.*always.*when the user asks for the assistant/s.test(
        instructions,
      )
      return wants && isTold ? giveBack('The user asked for you.') : { text: 'desk: yes?' }
    })
    const session = await newSession()
    await words(session, 'my order is lost')
    await words(session, 'I want to talk to the assistant again')
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'returned' })
    expect(await words(session, 'hello')).toBe('own: hello')
  })
})

describe('an agent that is not there any more', () => {
  it('Y9: which was switched off has the conversation no more, and the orchestrator answers at once', async () => {
    await installSupport('desk-off')
    withModel(desk('desk-off'))
    const session = await newSession()
    await words(session, 'my order is lost')
    await callJson('/api/operator/plugins/desk-off/disable', { json: {} })
    expect(await words(session, 'number 7')).toBe('own: number 7')
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'gone' })
  })

  const define = async (id: string, agent: object, more: object = {}) =>
    callJson('/api/agents', { json: { id, name: id, description: `The ${id}.`, agent, ...more } })

  it.each([
    ['archived', 'arch', (id: string) => callJson(`/api/agents/${id}/archive`, { json: {} })],
    ['deleted', 'del', (id: string) => call(`/api/agents/${id}`, { method: 'DELETE' })],
  ])(
    'Y9: an agent that was %s has the conversation no more: the next message is answered by the agent that handed it over',
    async (_what, name, remove) => {
      const [front, id] = [`front-${name}`, `gone-${name}`]
      await define(id, {
        integration_mode: 'handoff',
        model: `openai/${id}`,
        instructions: 'Help.',
      })
      await define(front, {
        model: `openai/${front}`,
        instructions: 'Help.',
        uses_tools: [`${id}__run`],
      })
      withModel((request) => {
        const said = lastSaid(request)
        if (isOf(id, request)) return { text: `desk: ${said}` }
        return said.includes('order')
          ? { calls: [{ name: `${id}__run`, input: { task: 'Help.' } }] }
          : { text: `own: ${said}` }
      })
      const session = (await callJson('/api/sessions', { json: { agent: front } })).id
      expect(await words(session, 'my order is lost')).toBe('desk: Help.')
      expect(await words(session, 'number 7')).toBe('desk: number 7')
      await remove(id)
      // No message of the user is lost: the agent that handed over answers, and knows why.
      expect(await words(session, 'number 8')).toBe('own: number 8')
      expect(JSON.stringify(upstream!.requests.at(-1)!.messages)).toContain('not there any more')
      expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'gone' })
    },
  )
})
