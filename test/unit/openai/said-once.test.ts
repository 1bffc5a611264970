import { describe, expect, it } from 'vitest'
import type { AgentResult } from '#contracts/agent.ts'
import type { StreamItem, ToldEvent } from '#contracts/event.ts'
import { createChatStream } from '../../../src/surfaces/openai/chat-response.ts'
import { createFold } from '../../../src/surfaces/openai/fold.ts'
import { createResponseView } from '../../../src/surfaces/openai/responses/response-view.ts'
import { toldEvent } from '../../fakes/events.ts'
import { delta, finished, resultOf, testRun } from '../../fakes/http-deps.ts'

const place = { session: `ses_${'S'.repeat(22)}`, run: testRun, turn: 0 }

/** What each surface says of a run, in order. */
function surfacesOf(items: readonly StreamItem[]) {
  const common = { requestId: 'req_1', onFault: () => {} }
  const chat = createChatStream({
    ...common,
    head: { id: 'chatcmpl-1', created: 1, model: 'm' },
    place,
    includeUsage: false,
  })
  const response = createResponseView({ ...common, head: { place, createdAt: 1, echo: {} } })
  const chunks = items.map((item) => chat.show(item)).join('')
  for (const item of items) response.show(item)
  const output = response.resource().output as readonly { content?: { text: string }[] }[]
  return {
    chat: [...chunks.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
      .map(([, text]) => JSON.parse(text!) as string)
      .join(''),
    response: output.map(({ content }) => content?.[0]?.text),
  }
}

const stopped = (result: string) =>
  resultOf({ state: 'stopped', result, error: { code: 'lease_turns', message: 'No more.' } })
const said = (turn: number, text: string): ToldEvent =>
  toldEvent({ ...finished(resultOf(), 2), type: 'message_finished', data: { turn, text } })

describe('what a run says last', () => {
  it.each<[string, readonly StreamItem[], AgentResult, string, string[]]>([
    ['is its last message', [delta('One')], resultOf({ result: 'One' }), 'One', ['One']],
    [
      'is all of its messages, where it was stopped after several',
      [said(1, 'One'), said(2, 'Two')],
      stopped('One\n\nTwo'),
      'One\n\nTwo\n\n(Stopped: No more. lease_turns)',
      ['One', 'Two'],
    ],
    [
      'is less than was said, where it was stopped in the middle of a message',
      [said(1, 'One'), delta('Tw', { turn: 2 })],
      stopped('One'),
      'One\n\nTw\n\n(Stopped: No more. lease_turns)',
      ['One', 'Tw'],
    ],
    [
      'is the rest of a message of which only a part came',
      [said(1, 'Wait.'), delta('Hello', { turn: 2 })],
      resultOf({ result: 'Hello there' }),
      'Wait.\n\nHello there',
      ['Wait.', 'Hello there'],
    ],
    ['is new, where nothing was said', [], resultOf({ result: 'All' }), 'All', ['All']],
    ['is nothing', [said(1, 'One')], resultOf({ result: '' }), 'One', ['One']],
  ])('%s: no surface says it twice', (_what, items, result, chat, response) => {
    expect(surfacesOf([...items, finished(result)])).toEqual({ chat, response })
  })
})

describe('a response within a run', () => {
  const started = (call: string) =>
    toldEvent({ ...finished(resultOf(), 3), type: 'tool_started', data: { call, tool: 'look' } })
  const parked = (turn: number, call: string) =>
    toldEvent({
      ...finished(resultOf(), 4),
      type: 'run_parked',
      data: { pauses: [{ call }], turn },
    })

  it('ends where its own turn waits for the client, whatever the ids of calls look like', () => {
    const fold = createFold({ run: testRun, turn: 1 })
    const items = [started('a'), parked(1, 'a'), started('b'), parked(2, 'b')]
    expect(items.flatMap(fold.apply)).toMatchObject([
      { type: 'calls', turn: 2, calls: [{ call: 'b', tool: 'look' }] },
    ])
  })

  it('counts what the models and sub-agents of its own turns took, those that code asked too', () => {
    const fold = createFold({ run: testRun, turn: 1 })
    const took = { inputTokens: 5, outputTokens: 1 }
    const of = (type: string, data: object) => toldEvent({ ...finished(resultOf(), 5), type, data })
    for (const turn of [1, 2]) {
      fold.apply(of('model_called', { call: 'x.1', turn, ...took }))
      fold.apply(of('agent_result', { call: 'y', turn, usage: took }))
    }
    expect(fold.tokens()).toEqual({ inputTokens: 10, outputTokens: 2 })
  })
})
