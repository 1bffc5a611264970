import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { stubOf } from '../fakes/objects.ts'
import {
  giveBack,
  handOver,
  installSupport,
  isOf,
  lastSaid,
  newSession,
  words,
} from '../fakes/support-agent.ts'
import { installUpstream } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const floorsIn = async (session: string): Promise<Answer[]> =>
  (await readSse(await call(`/api/sessions/${session}/events?follow=false`)))
    .map(({ data }) => data)
    .filter(({ type }) => type.startsWith('floor_'))
const tree = (session: string): Promise<Answer> => callJson(`/api/sessions/${session}`)
const never = Promise.withResolvers<void>().promise

/** Three desks, each handed over to by the one above it; the middle one has work in the background. */
async function install(name: string, handoff: object = {}) {
  const [top, middle, bottom, helper] = ['a', 'b', 'c', 'd'].map((one) => `${name}-${one}`) as [
    string,
    string,
    string,
    string,
  ]
  const small = {
    integration_mode: 'tool',
    handoff: undefined,
    limits: { max_tokens_per_invocation: 10_000 },
  }
  await installSupport(helper, {}, small)
  await installSupport(bottom)
  await installSupport(middle, {}, { uses_tools: [bottom, helper] })
  await installSupport(top, handoff, { uses_tools: [middle] })
  const deeper = (id: string) => ({
    calls: [{ name: `${id}__run`, input: { task: 'Find it.' } }],
  })
  upstream = installUpstream((request) => {
    const said = lastSaid(request)
    const isAnswered = request.messages.at(-1)?.role === 'tool'
    if (isOf(helper, request)) return { text: 'late', wait: never }
    if (isOf(bottom, request))
      return said === 'slow' ? { text: 'late', wait: never } : { text: `bottom: ${said}` }
    if (isOf(middle, request)) {
      if (said === 'work') {
        const input = { task: 'Count.', background: true }
        return isAnswered ? { text: 'begun' } : { calls: [{ name: `${helper}__run`, input }] }
      }
      return said === 'deeper' ? deeper(bottom) : { text: `middle: ${said}` }
    }
    if (isOf(top, request)) {
      if (said === 'both') return { calls: [...deeper(middle).calls, ...giveBack('Done.').calls] }
      return said === 'deeper' ? deeper(middle) : { text: `top: ${said}` }
    }
    return said.includes('order') ? handOver(top) : { text: `orchestrator: ${said}` }
  })
  const session = await newSession()
  await words(session, 'my order is lost')
  return session
}

/** Hands the conversation down to the deepest agent, with a helper at work in the background. */
async function allTheWayDown(session: string) {
  expect(await words(session, 'deeper')).toBe('middle: Find it.')
  expect(await words(session, 'work')).toBe('begun')
  expect(await words(session, 'deeper')).toBe('bottom: Find it.')
  expect(await words(session, 'number 7')).toBe('bottom: number 7')
  const [top] = (await tree(session)).children
  const [middle] = top.children
  const helper = middle.children.find(({ agent }: Answer) => agent.endsWith('-d'))
  const bottom = middle.children.find(({ agent }: Answer) => agent.endsWith('-c'))
  expect([top.floor.state, middle.floor.state]).toEqual(['held', 'held'])
  expect(helper.runs.at(-1).state).toBe('running')
  return { top: top.id, middle: middle.id, bottom: bottom.id, helper: helper.id }
}

/** Nothing below goes on, and each floor and each run has told its one end. */
async function expectAllOver({ top, middle, bottom, helper }: Record<string, string>) {
  await vi.waitFor(
    async () => {
      for (const above of [top!, middle!]) {
        expect((await tree(above)).floor).toMatchObject({ state: 'ended', reason: 'revoked' })
        expect((await floorsIn(above)).map(({ type }) => type)).toEqual([
          'floor_taken',
          'floor_ended',
        ])
      }
      expect((await tree(helper!)).runs.map(({ state }: Answer) => state)).toEqual(['cancelled'])
      const open = (await tree(bottom!)).runs.filter(({ state }: Answer) => state === 'running')
      expect(open).toEqual([])
    },
    { timeout: 30_000 },
  )
}

describe('E8: when a conversation comes back, all below its handoff agent is over with it', () => {
  it('taken back by its user while the deepest agent works: down the tree, each end told once', async () => {
    const session = await install('tree-u')
    const below = await allTheWayDown(session)
    const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'slow' } })
    await vi.waitFor(() => expect(lastSaid(upstream!.requests.at(-1)!)).toBe('slow'))
    await callJson(`/api/sessions/${session}/reclaim`, { method: 'POST' })
    await expectAllOver(below)
    expect((await callJson(`/api/sessions/${session}/runs/${run}`)).state).toBe('cancelled')
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
    expect((await floorsIn(session)).map(({ type }) => type)).toEqual([
      'floor_taken',
      'floor_ended',
    ])
  })

  it('after its time', async () => {
    const session = await install('tree-t', { timeout_ms: 60_000 })
    const below = await allTheWayDown(session)
    const { untilMs } = (await tree(session)).floor
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(untilMs + 1)
    await runDurableObjectAlarm(stubOf(session))
    await expectAllOver(below)
    expect((await tree(session)).floor).toMatchObject({ reason: 'timeout' })
  })

  it('with the last message of its lease', async () => {
    const session = await install('tree-l', { max_messages: 5 })
    const below = await allTheWayDown(session)
    await words(session, 'five')
    await expectAllOver(below)
    expect((await tree(session)).floor).toMatchObject({ reason: 'limit' })
  })

  it('given back in the very turn in which it was handed on', async () => {
    const session = await install('tree-r')
    await words(session, 'both')
    expect((await tree(session)).floor).toMatchObject({ state: 'ended', reason: 'returned' })
    const [top] = (await tree(session)).children
    await vi.waitFor(async () => {
      const { floor } = await tree(top.id)
      expect(floor?.state ?? 'none').not.toBe('held')
    })
    expect(await words(session, 'hello')).toBe('orchestrator: hello')
  })
})
