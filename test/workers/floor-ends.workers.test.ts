import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import { addPlugin, enablePlugin, pluginBundle } from '../fakes/plugin-admin.ts'
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
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const eventsOf = async (session: string): Promise<Answer[]> =>
  (await readSse(await call(`/api/sessions/${session}/events?follow=false`))).map(
    ({ data }) => data,
  )
const told = async (session: string): Promise<Answer[]> =>
  (await eventsOf(session)).filter(({ type }) => type.startsWith('floor_'))
const floorOf = async (session: string): Promise<Answer> =>
  (await callJson(`/api/sessions/${session}`)).floor

/** The orchestrator hands over what is about an order. */
const desk =
  (id: string, more: UpstreamScript = () => ({})): UpstreamScript =>
  (request, index) => {
    const special = more(request, index)
    if (Object.keys(special).length > 0) return special
    const said = lastSaid(request)
    if (!isOf(id, request))
      return said.includes('order') ? handOver(id) : { text: `orchestrator: ${said}` }
    return { text: `${id}: ${said}` }
  }

describe('Y9, E8: a conversation comes back by itself', () => {
  it('after a long silence: its alarm says so once, and the orchestrator knows', async () => {
    await installSupport('desk-m', { timeout_ms: 60_000 })
    withModel(desk('desk-m'))
    const session = await newSession()
    await words(session, 'my order is lost')
    const { untilMs } = await floorOf(session)
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(untilMs + 1)
    await runDurableObjectAlarm(stubOf(session))
    await vi.waitFor(async () =>
      expect((await told(session)).map(({ data }) => data.reason)).toEqual([undefined, 'timeout']),
    )
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'timeout' })
    await runDurableObjectAlarm(stubOf(session))
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    expect(JSON.stringify(upstream!.requests.at(-1)!.messages)).toContain(
      'nobody said anything for long',
    )
    expect(await told(session)).toHaveLength(2)
  })

  it('also where no alarm came: the message that is too late is answered by the orchestrator', async () => {
    await installSupport('desk-n', { timeout_ms: 60_000 })
    withModel(desk('desk-n'))
    const session = await newSession()
    await words(session, 'my order is lost')
    const { untilMs } = await floorOf(session)
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(untilMs)
    expect(await words(session, 'too late')).toBe('orchestrator: too late')
    expect((await told(session)).map(({ data }) => data.reason)).toEqual([undefined, 'timeout'])
  })

  it('by an operator, who is on the record for that', async () => {
    await installSupport('desk-o')
    withModel(desk('desk-o'))
    const { key } = await callJson('/api/operator/keys', {
      json: { principal: 'user-o', role: 'user' },
    })
    const headers = { authorization: `Bearer ${key}` }
    const { id } = await callJson('/api/sessions', { json: {}, headers })
    const say = (task: string) =>
      callJson(`/api/sessions/${id}/runs`, { json: { task, wait: true }, headers })
    await say('my order is lost')
    await callJson(`/api/sessions/${id}/reclaim`, { method: 'POST' })
    expect((await callJson(`/api/sessions/${id}`)).floor).toMatchObject({ reason: 'operator' })
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.filter(({ type }: Answer) => type === 'floor_reclaimed')).toMatchObject([
      { data: { session: id, owner: 'user-o', holder: 'desk-o__run' } },
    ])
    expect((await say('hello')).result.result).toBe('orchestrator: hello')
    const other = await call(`/api/sessions/${await newSession()}/reclaim`, {
      method: 'POST',
      headers,
    })
    expect(other.status).toBe(404)
  })

  it('Y9: where the orchestrator’s model looks at each message, as soon as that says so', async () => {
    await installSupport('desk-p', { monitor: 'model' })
    const isLook = (request: Parameters<UpstreamScript>[0]) =>
      String(request.messages[0]?.content).startsWith('You look after')
    withModel(
      desk('desk-p', (request) =>
        isLook(request)
          ? { text: String(request.messages[1]?.content).includes('a flight') ? 'RECLAIM' : 'KEEP' }
          : {},
      ),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    expect(await words(session, 'number 7')).toBe('desk-p: number 7')
    expect(await words(session, 'I want a flight')).toBe('orchestrator: I want a flight')
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'monitor', messages: 2 })
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    expect(upstream!.requests.filter(isLook)).toHaveLength(2)
  })
})

describe('Y9: a handoff below a handoff', () => {
  it('goes down the tree and comes back up, each handoff in the session of the agent that handed over', async () => {
    await installSupport('desk-r')
    await installSupport('desk-q', {}, { uses_tools: ['desk-r'] })
    withModel((request) => {
      const said = lastSaid(request)
      if (isOf('desk-r', request))
        return said === 'done' ? giveBack('The parcel is found.') : { text: `below: ${said}` }
      if (!isOf('desk-q', request))
        return said.includes('order') ? handOver('desk-q') : { text: `orchestrator: ${said}` }
      if (said === 'deeper')
        return { calls: [{ name: 'desk-r__run', input: { task: 'Find it.' } }] }
      return said === 'bye' ? giveBack('All is well.') : { text: `above: ${said}` }
    })
    const session = await newSession()
    await words(session, 'my order is lost')
    expect(await words(session, 'deeper')).toBe('below: Find it.')
    expect(await words(session, 'number 7')).toBe('below: number 7')
    const [above] = (await callJson(`/api/sessions/${session}`)).children
    expect(above.floor).toMatchObject({ holder: 'desk-r__run', state: 'held' })
    expect(await words(session, 'done')).toBe('The parcel is found.')
    expect(await words(session, 'and now')).toBe('above: and now')
    expect(await words(session, 'bye')).toBe('All is well.')
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    expect((await told(session)).map(({ type }) => type)).toEqual(['floor_taken', 'floor_ended'])
    expect((await told(above.id)).map(({ type }) => type)).toEqual(['floor_taken', 'floor_ended'])
  })
})

describe('X1: whatever the tool is', () => {
  it('code of a plugin has the conversation as an agent has it', async () => {
    const code = `export default () => ({ tools: { async say({ message }) {
      return message === 'done' ? { say: 'bye', done: true, summary: 'All asked.' } : { say: 'step ' + message }
    } } })`
    const schema = {
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
      additionalProperties: false,
    }
    const tool = { name: 'say', description: 'Guides.', input_schema: schema, handoff: {} }
    await addPlugin({ ...pluginBundle('guide', '', { contributes: { tools: [tool] } }), code })
    await enablePlugin('guide')
    withModel((request) =>
      lastSaid(request) === 'guide me'
        ? {
            calls: [
              { name: 'isola__call', input: { name: 'guide__say', input: { message: '1' } } },
            ],
          }
        : { text: `orchestrator: ${lastSaid(request)}` },
    )
    const session = await newSession()
    expect(await words(session, 'guide me')).toBe('step 1')
    expect(await words(session, '2')).toBe('step 2')
    expect(await words(session, 'done')).toBe('bye')
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    expect(upstream!.requests).toHaveLength(2)
    expect(JSON.stringify(upstream!.requests[1]!.messages)).toContain('All asked.')
  })

  it('a conversation that was not handed over cannot be taken back', async () => {
    withModel(desk('desk-s'))
    const session = await newSession()
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    const reclaimed = await call(`/api/sessions/${session}/reclaim`, { method: 'POST' })
    expect(reclaimed.status).toBe(409)
  })
})

describe('Y16: on the surfaces', () => {
  it('a response goes on from the one before it, and its items say what the agent said', async () => {
    await installSupport('desk-t')
    withModel(desk('desk-t'))
    const respond = (input: string, more: object = {}): Promise<Answer> =>
      callJson('/v1/responses', { json: { model: 'orchestrator', input, ...more } })
    const conversation = (await callJson('/v1/conversations', { json: {} })).id
    const first = await respond('my order is lost', { conversation })
    expect(first.output.at(-1).content[0].text).toContain('desk-t:')
    const second = await respond('number 7', { conversation })
    expect(second.output.map(({ type }: Answer) => type)).toEqual(['message'])
    expect(second.output[0].content[0].text).toBe('desk-t: number 7')
    const { data } = await callJson(`/v1/conversations/${conversation}/items?order=asc`)
    const texts = data.map((item: Answer) => [item.role, item.content?.[0]?.text])
    expect(texts).toContainEqual(['assistant', 'desk-t: number 7'])
    expect(data.map(({ id }: Answer) => id)).toContain(second.output[0].id)
  })

  it('the events of a run on /api bring the words as they are said, and none is kept twice', async () => {
    await installSupport('desk-u')
    const { promise, resolve } = Promise.withResolvers<void>()
    withModel(
      desk('desk-u', (request) =>
        lastSaid(request) === 'number 7' ? { text: 'desk-u: number 7', wait: promise } : {},
      ),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'number 7' } })
    const response = await call(`/api/sessions/${session}/events?run=${run}`)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      text += step.value
      // A reader that is behind gets finished messages, and no pieces.
      if (text.includes('run_started')) resolve()
    }
    const items = await readSse(new Response(text))
    const pieces = items.flatMap(({ data }) => (data.type === 'message_delta' ? [data.text] : []))
    expect(pieces.join('')).toBe('desk-u: number 7')
    expect((await eventsOf(session)).filter(({ type }) => type === 'message_delta')).toEqual([])
  })

  it('E8: a message that is cancelled ends the agent’s work too, and the conversation stays with it', async () => {
    await installSupport('desk-v')
    const { promise: never } = Promise.withResolvers<void>()
    withModel(
      desk('desk-v', (request) => (lastSaid(request) === 'slow' ? { text: 'x', wait: never } : {})),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'slow' } })
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('slow'))
    await callJson(`/api/sessions/${session}/runs/${run}/cancel`, { json: {} })
    await vi.waitFor(async () => {
      const tree = await callJson(`/api/sessions/${session}`)
      expect(tree.children[0].runs.at(-1).state).toBe('cancelled')
    })
    expect(await words(session, 'number 7')).toBe('desk-v: number 7')
    expect(await floorOf(session)).toMatchObject({ state: 'held', messages: 2 })
  })
})
