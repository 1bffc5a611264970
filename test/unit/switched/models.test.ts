import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { billable } from '../../../src/runtime/kernel/leases/bill.ts'
import type { Carrier } from '#contracts/outbound.ts'
import { createTokenEstimator } from '../../../src/platform/models/estimate.ts'
import { createOpenAiProvider } from '../../../src/platform/models/openai-provider.ts'
import { createReplyAssembly } from '../../../src/platform/models/openai/reply-assembly.ts'
import { createByteMeter } from '../../../src/platform/models/openai/reply-limits.ts'
import { callOptions } from '../models/call-options.ts'
import { sendOver } from '../../fakes/outbound.ts'

type Chunk = Parameters<ReturnType<typeof createReplyAssembly>['add']>[0]

const MiB = 1_048_576
/** A chunk of a stranger: it may hold anything. */
const chunkOf = (chunk: object) => chunk as unknown as Chunk
const text = (content: string) => chunkOf({ choices: [{ index: 0, delta: { content } }] })
const args = (part: string) =>
  chunkOf({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: part } }] } }] })

describe('a reply of a model service', () => {
  it('A7: has at most 4 MiB of text and arguments', () => {
    const assembly = createReplyAssembly()
    for (let part = 0; part < 4; part += 1) assembly.add(text('x'.repeat(MiB)))
    expect(() => assembly.add(text('x'))).toThrow('4 MiB')
  })

  it('A7: has at most 1 MiB of arguments for one call', () => {
    const assembly = createReplyAssembly()
    assembly.add(args('x'.repeat(MiB)))
    expect(() => assembly.add(args('x'))).toThrow('1 MiB')
  })

  it('A7: weighs at most 64 MiB on the wire, and its limit at once', async () => {
    const pad = new TextEncoder().encode(`data: {"choices":[],"pad":"${'x'.repeat(MiB)}"}\n\n`)
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(pad.slice()) })
    const headers = { 'content-type': 'text/event-stream' }
    const provider = providerWith(
      'http://model.test/v1',
      async () => new Response(endless, { headers }),
    )
    await expect(provider.generate(request, callOptions())).rejects.toThrow('64 MiB')
    const piece = createByteMeter(2 * MiB)
    piece.add(2 * MiB)
    expect(() => piece.add(1)).toThrow('2 MiB')
  })

  it.each([
    ['negative', { prompt_tokens: -5, completion_tokens: 1 }],
    ['a fraction', { prompt_tokens: 0.5, completion_tokens: 1 }],
    ['text', { prompt_tokens: '5', completion_tokens: 1 }],
    ['beyond any model', { prompt_tokens: 2e7, completion_tokens: 1 }],
  ])('T19: has no usage where the count is %s', (_what, usage) => {
    const assembly = createReplyAssembly()
    assembly.add(chunkOf({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], usage }))
    expect(assembly.finish().usage).toBeUndefined()
  })

  it('T19: is booked with its whole reservation if its bill is no number', () => {
    const usage = {
      inputTokens: -9,
      outputTokens: 1,
      costNanoUsd: 0,
      priced: true,
      estimated: false,
    }
    const reserved = { tokens: 150, costNanoUsd: 7 }
    expect(billable(usage, reserved)).toMatchObject({ inputTokens: 150, costNanoUsd: 7 })
  })
})

const providerWith = (baseUrl: string, answer: Carrier = fetch) =>
  createOpenAiProvider({
    apiKey: 'sk-secret',
    baseUrl,
    send: sendOver(answer),
    sleep: () => new Promise(() => {}),
    tokens: createTokenEstimator(),
    priceOf: () => undefined,
  })
const request = { model: 'm', messages: [], tools: [], parameters: {} }

it('A7: a reply in one piece that weighs more than 8 MiB is refused', async () => {
  const choices = [{ index: 0, message: { content: 'hi' }, finish_reason: 'stop' }]
  const answer = async () => Response.json({ choices, pad: 'x'.repeat(9 * MiB) })
  const unwatched = callOptions({ isUnwatched: true })
  const calling = providerWith('http://model.test/v1', answer).generate(request, unwatched)
  await expect(calling).rejects.toMatchObject({ code: 'model_invalid_reply' })
})

describe('a model service that redirects', () => {
  it('T16, T4: gets nothing sent to the address it names', async () => {
    const seen: string[] = []
    const server = createServer((request, response) => {
      seen.push(request.url ?? '')
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const provider = providerWith(`http://127.0.0.1:${port}/v1`)
      await expect(provider.generate(request, callOptions())).rejects.toMatchObject({
        code: 'model_refused_request',
      })
      expect(seen).toEqual(['/v1/chat/completions'])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})
