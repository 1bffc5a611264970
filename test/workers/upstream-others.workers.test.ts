import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import * as wire from '../faults/upstream-faults.wire.ts'
import {
  endedOf,
  expectAsLabelled,
  expectSettled,
  hurry,
  inOnePiece,
  named,
  oneOfEach,
  pollResponse,
  recordOf,
  request,
  someone,
  streamed,
  withFault,
} from '../faults/upstream-wire.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('M6: G6: an upstream fault in', () => {
  it.each(named(oneOfEach(streamed)))('a background run: %s', async (_name, fault) => {
    const who = await someone()
    hurry(fault)
    const requests = withFault(fault, 'agent')
    const { id } = await callJson('/v1/responses', {
      json: { ...request, background: true },
      headers: who.headers,
    })
    expectAsLabelled(fault, await pollResponse(id, who.headers))
    expect(requests()).toEqual([fault.requests])
    await expectSettled(who, fault.requests)
  })

  it.each(named(oneOfEach(inOnePiece)))('a chat completion: %s', async (_name, fault) => {
    const who = await someone()
    hurry(fault)
    const requests = withFault(fault, 'agent')
    const answer = await call('/v1/chat/completions', {
      json: { model: 'orchestrator', messages: [{ role: 'user', content: 'go' }] },
      headers: who.headers,
    })
    const body = (await answer.json()) as Answer
    if (fault.code) expect([body.error?.code, answer.status >= 400]).toEqual([fault.code, true])
    else expect(body.choices[0].message.content).toBe(fault.text ?? 'all well')
    expect(requests()).toEqual([fault.requests])
    await expectSettled(who, fault.requests)
  })

  it.each<[string, readonly (readonly [string, string])[], readonly (string | undefined)[]]>([
    ['arguments that are no JSON', [['kv__set', '{"key": "a"']], ['tool_invalid_input']],
    ['arguments of another type', [['kv__set', '{"key": 5, "value": 1}']], ['tool_invalid_input']],
    ['a tool that nobody has', [['rm_rf', '{}']], ['tool_not_found']],
    [
      'calls side by side, one of them wrong',
      [
        ['kv__set', '{"key": "a", "value": 1}'],
        ['kv__set', '[]'],
        ['kv__get', '{"key": "nothing"}'],
      ],
      [undefined, 'tool_invalid_input', undefined],
    ],
  ])('tool calls: %s', async (_name, made, codes) => {
    const calls = made.map(([name, args], index) => ({
      index,
      id: `c${index}`,
      function: { name, arguments: args },
    }))
    for (const background of [false, true]) {
      const who = await someone()
      const fault = { name: '', answers: [wire.calls(...calls), wire.fine], requests: 2 }
      const requests = withFault(fault, 'agent')
      const json = { ...request, ...(background ? { background } : { stream: true }) }
      const answer = await call('/v1/responses', { json, headers: who.headers })
      const response = background
        ? await pollResponse(((await answer.json()) as Answer).id, who.headers)
        : endedOf(await readSse(answer))
      expectAsLabelled(fault, response)
      expect(response.output.map(({ type }: Answer) => type)).toEqual(['message'])
      expect(requests()).toEqual([2])
      await expectSettled(who, 2)
      const finished = (await recordOf(who)).filter(({ type }) => type === 'tool_finished')
      expect(new Set(finished.map(({ data }) => data['code']))).toEqual(new Set(codes))
      expect(finished).toHaveLength(codes.length)
      vi.restoreAllMocks()
    }
  })
})
