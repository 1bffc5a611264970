import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import {
  giveBack,
  handOver,
  installSupport,
  isOf,
  lastSaid,
  newSession,
  say,
  words,
} from '../fakes/support-agent.ts'
import { installUpstream, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const eventsOf = async (session: string): Promise<Answer[]> =>
  (await readSse(await call(`/api/sessions/${session}/events?follow=false`))).map(
    ({ data }) => data,
  )

/** The orchestrator hands over what is about an order; the desk gives it back when it hears "thanks". */
const desk: (id: string) => UpstreamScript = (id) => (request) => {
  const said = lastSaid(request)
  if (!isOf(id, request))
    return said.includes('order') ? handOver(id) : { text: `orchestrator: ${said}` }
  return said.includes('thanks') ? giveBack('It was sent again.') : { text: `desk: ${said}` }
}

describe('a conversation that is handed over', () => {
  it('Y9, Y27, X1: goes to the agent message by message, with one session, until it is given back', async () => {
    await installSupport('desk-a')
    withModel(desk('desk-a'))
    const session = await newSession()
    expect(await words(session, 'my order is lost')).toBe(
      'desk: The user needs help with an order.',
    )
    expect(await words(session, 'number 7')).toBe('desk: number 7')
    expect(await words(session, 'red')).toBe('desk: red')
    const held = await callJson(`/api/sessions/${session}`)
    expect(held.floor).toMatchObject({ holder: 'desk-a__run', state: 'held', messages: 2 })
    expect(held.children).toHaveLength(1)
    expect(held.children[0].runs).toHaveLength(3)
    expect(await words(session, 'thanks')).toBe('It was sent again.')
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    const { requests } = upstream!
    // The agent was sent all that was said to it, and the orchestrator is told what came of it.
    expect(requests.findLast((one) => isOf('desk-a', one))!.messages).toHaveLength(8)
    expect(JSON.stringify(requests.at(-1)!.messages)).toContain('It was sent again.')
    const events = await eventsOf(session)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_one, index) => index + 1))
    const told = events.filter(({ type }) => type.startsWith('floor_'))
    expect(told.map(({ type }) => type)).toEqual(['floor_taken', 'floor_ended'])
    expect(told[1].data).toMatchObject({ holder: 'desk-a__run', reason: 'returned', messages: 3 })
    expect(told[1].data.tokens).toBe(330)
  })
})

const floorOf = async (session: string): Promise<Answer> =>
  (await callJson(`/api/sessions/${session}`)).floor
const told = async (session: string): Promise<Answer[]> =>
  (await eventsOf(session)).filter(({ type }) => type.startsWith('floor_'))
const start = async (session: string, task: string): Promise<string> =>
  (await callJson(`/api/sessions/${session}/runs`, { json: { task } })).run
const ended = (session: string, run: string): Promise<Answer> =>
  vi.waitFor(async () => {
    const view = await callJson(`/api/sessions/${session}/runs/${run}`)
    expect(view.result).toBeDefined()
    return view
  })
const gate = () => Promise.withResolvers<void>()

describe('Y9, E8: a conversation is taken back', () => {
  it('by the user, who says /return and is answered by the orchestrator at once', async () => {
    await installSupport('desk-b')
    withModel(desk('desk-b'))
    const session = await newSession()
    await words(session, 'my order is lost')
    expect(await words(session, '/return and now?')).toBe('orchestrator: /return and now?')
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'user', messages: 0 })
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    const messages = JSON.stringify(upstream!.requests.at(-1)!.messages)
    expect(messages.match(/the user took it back/g)).toHaveLength(1)
    expect((await told(session)).map(({ data }) => data.reason)).toEqual([undefined, 'user'])
  })

  it('by a program while the agent works: its run is cancelled down the tree, and has one outcome', async () => {
    await installSupport('desk-c')
    const { promise: never } = gate()
    withModel((request) =>
      isOf('desk-c', request) && lastSaid(request) === 'slow'
        ? { text: 'x', wait: never }
        : desk('desk-c')(request, 0),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const run = await start(session, 'slow')
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('slow'))
    const floor = await callJson(`/api/sessions/${session}/reclaim`, { method: 'POST' })
    expect(floor).toMatchObject({ state: 'ended', reason: 'user' })
    expect(await ended(session, run)).toMatchObject({ state: 'cancelled' })
    await vi.waitFor(async () => {
      const { children } = await callJson(`/api/sessions/${session}`)
      expect(children[0].runs.map(({ state }: Answer) => state)).toEqual(['completed', 'cancelled'])
    })
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    expect((await told(session)).map(({ type }) => type)).toEqual(['floor_taken', 'floor_ended'])
    const again = await call(`/api/sessions/${session}/reclaim`, { method: 'POST' })
    expect(again.status).toBe(409)
  })

  it('by its lease: after so many messages, and never more than is left of the tokens', async () => {
    await installSupport('desk-d', { max_messages: 2, max_tokens: 100_000 })
    withModel(desk('desk-d'))
    const session = await newSession()
    await words(session, 'my order is lost')
    expect(await words(session, 'one')).toBe('desk: one')
    expect(await words(session, 'two')).toBe('desk: two')
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'limit', messages: 2 })
    expect(await words(session, 'three')).toBe('orchestrator: three')
    await installSupport('desk-e', { max_tokens: 300 })
    withModel(desk('desk-e'))
    const small = await newSession()
    await words(small, 'my order is lost')
    await words(small, 'x'.repeat(4_000))
    const floor = await floorOf(small)
    expect(floor).toMatchObject({ state: 'ended', reason: 'limit' })
    expect(floor.tokens).toBeLessThanOrEqual(300)
  })

  it('when it could not answer twice in a row', async () => {
    await installSupport('desk-f')
    withModel((request) =>
      isOf('desk-f', request) && lastSaid(request) === 'break'
        ? { status: 400 }
        : desk('desk-f')(request, 0),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    await say(session, 'break')
    expect(await floorOf(session)).toMatchObject({ state: 'held' })
    await say(session, 'break')
    expect(await floorOf(session)).toMatchObject({ state: 'ended', reason: 'failed' })
  })
})

describe('during a handoff', () => {
  it('Y24: messages that come at once are answered one after the other, in their order', async () => {
    await installSupport('desk-g')
    const { promise, resolve } = gate()
    withModel((request) =>
      lastSaid(request) === 'first'
        ? { text: 'desk: first', wait: promise }
        : desk('desk-g')(request, 0),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const first = await start(session, 'first')
    const second = await start(session, 'thanks')
    const third = await start(session, 'third')
    resolve()
    expect((await ended(session, first)).result.result).toBe('desk: first')
    expect((await ended(session, second)).result.result).toBe('It was sent again.')
    // It was given back by then.
    expect((await ended(session, third)).result.result).toBe('orchestrator: third')
  })

  it('E8: an object that ends in the middle of a message goes on with it, and the agent answers once', async () => {
    await installSupport('desk-h')
    const { promise, resolve } = gate()
    let isSlow = true
    withModel((request) =>
      lastSaid(request) === 'slow' && isSlow
        ? { text: 'lost', wait: promise }
        : desk('desk-h')(request, 0),
    )
    const session = await newSession()
    await words(session, 'my order is lost')
    const run = await start(session, 'slow')
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('slow'))
    isSlow = false
    await abortAllDurableObjects()
    resolve()
    expect((await ended(session, run)).result.result).toBe('desk: slow')
    expect(await words(session, 'next')).toBe('desk: next')
    expect(await floorOf(session)).toMatchObject({ state: 'held', messages: 2 })
    const [child] = (await callJson(`/api/sessions/${session}`)).children
    expect(child.runs).toHaveLength(3)
  })

  it('an approval in the middle of what the agent does parks its message, and the answer ends it', async () => {
    await installSupport('desk-i')
    withModel((request) => {
      if (!isOf('desk-i', request) || lastSaid(request) !== 'keep it')
        return desk('desk-i')(request, 0)
      return request.messages.at(-1)?.role === 'tool'
        ? { text: 'kept' }
        : { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] }
    })
    const session = await newSession()
    await words(session, 'my order is lost')
    const parked = await say(session, 'keep it', { requireApproval: ['kv__set'] })
    expect(parked).toMatchObject({ state: 'parked', pauses: [{ kind: 'session' }] })
    const [child] = (await callJson(`/api/sessions/${session}`)).children
    const waiting = child.runs.at(-1)
    await callJson(`/api/sessions/${child.id}/runs/${waiting.id}/decisions`, {
      json: { call: waiting.pauses[0].call, decision: 'approve' },
    })
    expect((await ended(session, parked.id)).result.result).toBe('kept')
    expect(await floorOf(session)).toMatchObject({ state: 'held', messages: 1 })
  })

  it('C6: a policy of the agent sees the user’s own words as the user’s, and the orchestrator the agent’s as the agent’s', async () => {
    await installSupport('desk-j')
    withModel(desk('desk-j'))
    const session = await newSession()
    await words(session, 'my order is lost')
    await words(session, 'number 7')
    const [child] = (await callJson(`/api/sessions/${session}`)).children
    const below = (await callJson(`/api/sessions/${child.id}/transcript`)).messages
    expect(below.find(({ text }: Answer) => text === 'number 7')).toMatchObject({ taint: ['user'] })
    const { messages } = await callJson(`/api/sessions/${session}/transcript`)
    const said = messages.find(({ text }: Answer) => text === 'desk: number 7')
    expect(said).toMatchObject({
      role: 'assistant',
      by: 'desk-j__run',
      taint: ['tool:desk-j__run'],
    })
  })
})

describe('a session without a user', () => {
  const chat = (content: string, more: object = {}, headers: Record<string, string> = {}) =>
    call('/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content }], ...more },
      headers,
    })

  it('X1: a chat call without a session has the agent as a tool, and the orchestrator answers', async () => {
    await installSupport('desk-k')
    withModel((request, index) =>
      request.messages.at(-1)?.role === 'tool'
        ? { text: 'sent again' }
        : desk('desk-k')(request, index),
    )
    const answer = (await (await chat('my order is lost')).json()) as Answer
    expect(answer.choices[0].message.content).toBe('sent again')
    const inside = upstream!.requests.filter((one) => isOf('desk-k', one))
    expect(inside).toHaveLength(1)
    expect(JSON.stringify(inside[0]!.tools)).not.toContain('isola__return')
  })

  it('Y16: with a session the words reach a streaming client as they are said, once', async () => {
    await installSupport('desk-l')
    withModel(desk('desk-l'))
    const headers = { 'x-isola-session': 'floor-l' }
    await chat('my order is lost', {}, headers)
    const events = await readSse(await chat('number 7', { stream: true }, headers))
    const pieces = events.flatMap(({ data }) => data.choices?.[0]?.delta?.content ?? [])
    expect(pieces.join('')).toBe('desk: number 7')
    // As they came, and not once it had said all.
    expect(pieces.length).toBeGreaterThan(1)
    const asked = upstream!.requests.findLast((one) => isOf('desk-l', one))
    expect(asked?.stream).toBe(true)
    // A client that sends all of it along again has added one message, and nothing that was said to it.
    const again = await call('/v1/chat/completions', {
      headers,
      json: {
        model: 'orchestrator',
        messages: [
          { role: 'user', content: 'number 7' },
          { role: 'assistant', content: 'desk: number 7' },
          { role: 'user', content: 'red' },
        ],
      },
    })
    expect(((await again.json()) as Answer).choices[0].message.content).toBe('desk: red')
    const last = upstream!.requests.findLast((one) => isOf('desk-l', one))!
    expect(
      last.messages.filter(({ role }) => role === 'user').map(({ content }) => content),
    ).toEqual(['The user needs help with an order.', 'number 7', 'red'])
  })
})
