import { afterEach, describe, expect, it } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
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
