import { describe, expect, it } from 'vitest'
import type { Message } from '#contracts/message.ts'
import type { ModelRequest } from '#contracts/model.ts'
import { cpuMs } from '../../fakes/cpu-ms.ts'
import { createTokenEstimator, reservationFor } from '../../../src/platform/models/estimate.ts'
import { costOf } from '../../../src/platform/models/prices.ts'
import { createScriptedModel } from '../../../src/platform/models/scripted-model.ts'
import { callOptions } from './call-options.ts'

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'm',
  messages: [],
  tools: [],
  parameters: {},
  ...more,
})
const options = callOptions()

describe('the cost of a call', () => {
  const price = (inputUsdPerMillion: number, outputUsdPerMillion: number) => ({
    inputUsdPerMillion,
    outputUsdPerMillion,
  })

  it('is exact in billionths of a dollar', () => {
    expect(costOf(price(0.15, 0.6), 1_000_000, 0)).toBe(150_000_000)
    expect(costOf(price(0.15, 0.6), 3, 7)).toBe(3 * 150 + 7 * 600)
    expect(Number.isSafeInteger(costOf(price(15, 75), 1e7, 1e7))).toBe(true)
  })

  it('rounds a fraction of a billionth up, once for the whole call', () => {
    expect(costOf(price(0.0375, 0), 1, 0)).toBe(38)
    expect(costOf(price(0.0375, 0), 2, 0)).toBe(75)
  })

  it('is that of the dearer tier for all tokens once the input passes its threshold', () => {
    const tiered = {
      ...price(1, 2),
      above: [
        { inputTokens: 128_000, ...price(2, 4) },
        { inputTokens: 256_000, ...price(4, 8) },
      ],
    }
    expect(costOf(tiered, 128_000, 10)).toBe(128_000 * 1_000 + 10 * 2_000)
    expect(costOf(tiered, 128_001, 10)).toBe(128_001 * 2_000 + 10 * 4_000)
    expect(costOf(tiered, 300_000, 10)).toBe(300_000 * 4_000 + 10 * 8_000)
  })
})

describe('the estimate of a request', () => {
  const { ofRequest } = createTokenEstimator()
  const message: Message = { role: 'user', text: 'word '.repeat(100), taint: [] }

  it('counts messages, tool calls, results, tools and images', () => {
    const empty = ofRequest(request())
    const parts: readonly Partial<ModelRequest>[] = [
      { messages: [message] },
      {
        messages: [
          {
            role: 'assistant',
            text: '',
            toolCalls: [{ id: 'c', name: 'tool', input: { a: 'some words here' } }],
            taint: [],
          },
        ],
      },
      {
        messages: [
          {
            role: 'tool',
            callId: 'c',
            name: 'tool',
            output: { a: [1, 2, 3] },
            isError: false,
            taint: [],
          },
        ],
      },
      { tools: [{ name: 'a__b', description: 'Does things.', inputSchema: { type: 'object' } }] },
      { outputSchema: { type: 'object', properties: { a: { type: 'string' } } } },
    ]
    for (const part of parts) expect(ofRequest(request(part))).toBeGreaterThan(empty + 5)
    expect(
      ofRequest(
        request({ messages: [{ ...message, images: [{ url: 'data:image/png;base64,AAAA' }] }] }),
      ),
    ).toBeGreaterThan(1_500)
  })

  it('reserves input × 1.25 and the output cap', () => {
    expect(reservationFor(100, request())).toEqual({ tokens: 125 + 4_096, costNanoUsd: 0 })
    const price = { inputUsdPerMillion: 1, outputUsdPerMillion: 2 }
    const short = request({ parameters: { maxOutputTokens: 10 } })
    expect(reservationFor(100, short, price)).toEqual({
      tokens: 135,
      costNanoUsd: 125 * 1_000 + 10 * 2_000,
    })
  })

  it('counts a message that it has seen before from memory', () => {
    const messages = Array.from({ length: 200 }, (): Message => ({
      role: 'user',
      text: 'some words '.repeat(2_000),
      taint: [],
    }))
    const timed = (): number => {
      const startedAt = cpuMs()
      ofRequest(request({ messages }))
      return cpuMs() - startedAt
    }
    const first = timed()
    expect(timed()).toBeLessThan(first / 5)
  })
})

describe('I19: a scripted model', () => {
  it('gives its replies in order and keeps the requests', async () => {
    const model = createScriptedModel([
      { toolCalls: [{ name: 'kv__get', input: { key: 'a' } }] },
      { deltas: ['Hel', 'lo'] },
    ])
    const deltas: string[] = []
    const first = await model.generate(request({ model: 'x' }), options)
    const second = await model.generate(request(), {
      ...options,
      onDelta: (text) => deltas.push(text),
    })
    expect(first).toMatchObject({
      toolCalls: [{ id: 'call_1', name: 'kv__get', input: { key: 'a' } }],
      finishReason: 'tool_calls',
      provider: 'scripted',
      model: 'x',
    })
    expect([second.text, ...deltas]).toEqual(['Hello', 'Hel', 'lo'])
    expect(model.requests).toHaveLength(2)
    await expect(model.generate(request(), options)).rejects.toMatchObject({
      code: 'model_invalid_reply',
    })
  })

  it('answers from a function of the request and its number', async () => {
    const model = createScriptedModel((asked, index) => ({ text: `${asked.model} ${index}` }))
    expect([
      (await model.generate(request(), options)).text,
      (await model.generate(request(), options)).text,
    ]).toEqual(['m 0', 'm 1'])
  })

  it('never uses more than it estimated, unless its script says so', async () => {
    const model = createScriptedModel([
      { text: 'short' },
      { text: 'x', usage: { inputTokens: 5, outputTokens: 6, costNanoUsd: 7 } },
    ])
    const asked = request({ messages: [{ role: 'user', text: 'hello there', taint: [] }] })
    const { usage } = await model.generate(asked, options)
    expect(usage.inputTokens + usage.outputTokens).toBeLessThanOrEqual(model.estimate(asked).tokens)
    expect((await model.generate(asked, options)).usage).toEqual({
      inputTokens: 5,
      outputTokens: 6,
      costNanoUsd: 7,
      priced: true,
      estimated: false,
    })
  })

  it('fails and waits as its script says', async () => {
    const waits: number[] = []
    const sleep = async (ms: number): Promise<void> => void waits.push(ms)
    const model = createScriptedModel(
      [{ delayMs: 50, failure: { code: 'model_rate_limited', transient: true } }],
      { sleep },
    )
    await expect(model.generate(request(), options)).rejects.toMatchObject({
      code: 'model_rate_limited',
      transient: true,
    })
    expect(waits).toEqual([50])
  })

  it('throws the reason of a signal that has aborted', async () => {
    const signal = AbortSignal.abort(new Error('stopped'))
    await expect(
      createScriptedModel([{ text: 'x' }]).generate(request(), { ...options, signal }),
    ).rejects.toThrow('stopped')
  })
})
