import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { OutboundError, type Carrier } from '#contracts/outbound.ts'
import { createFakeClock } from '../../fakes/kernel.ts'
import { outboundOver, sendOver } from '../../fakes/outbound.ts'

const ok: Carrier = async () => new Response('ok')
const rules = { maxBytes: 1_000 }
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof OutboundError ? error.failure : error),
  )

describe('T5: an address', () => {
  it.each([
    ['https://10.0.0.1/', undefined],
    ['https://169.254.169.254/latest/meta-data', undefined],
    ['https://login.example.com:8443/', undefined],
    ['http://login.example.com/', undefined],
    ['https://u:p@login.example.com/', undefined],
    // The operator's address lies outside: it leads no request inside, nor to another port of a stranger.
    ['https://10.0.0.1/', 'https://login.example.com'],
    ['http://127.0.0.1/', 'https://login.example.com'],
    ['https://localhost/', 'https://login.example.com'],
    ['https://keys.example.net:8443/', 'https://login.example.com'],
    ['http://login.example.com/', 'https://login.example.com'],
    ['https://u:p@keys.example.net/', 'https://login.example.com'],
    // What lies inside may name what lies beside it, over TLS.
    ['http://10.0.0.2/', 'https://10.0.0.1'],
  ])('%s is refused, with %s set by the operator', async (url, operator) => {
    const sending = sendOver(ok)({ url }, { ...rules, ...(operator && { operator }) })
    expect(await failureOf(sending)).toBe('refused')
  })

  it.each([
    ['https://example.com/', undefined],
    ['http://10.0.0.1:11434/v1', 'http://10.0.0.1:11434/v1'],
    ['http://model.internal/v1', 'http://model.internal/v1'],
    ['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/traces'],
    ['https://login.example.com:8443/token', 'https://login.example.com'],
    ['https://keys.example.net/', 'https://login.example.com'],
    ['https://10.0.0.2:8443/', 'https://10.0.0.1'],
    ['http://127.0.0.1:9000/', 'http://localhost:8000'],
  ])('%s is asked, with %s set by the operator', async (url, operator) => {
    const answer = await sendOver(ok)({ url }, { ...rules, ...(operator && { operator }) })
    expect(await answer.text()).toBe('ok')
  })

  it('in development may be loopback as it is written, but not by a redirect from outside', async () => {
    const network = { isDevelopment: true }
    const url = 'http://localhost:3000/'
    expect((await sendOver(ok, network)({ url }, rules)).status).toBe(200)
    expect(outboundOver(ok, network).checkUrl(url).href).toBe(url)
    const operator = 'https://login.example.com'
    const led = sendOver(ok, network)({ url }, { ...rules, operator })
    expect(await failureOf(led)).toBe('refused')
  })
})

describe('an answer', () => {
  it('T26: that unpacks to a thousand times its size is read to its cap', async () => {
    const packed = gzipSync(Buffer.alloc(64 * 1_048_576))
    const server = createServer((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      for (const read of ['text', 'bytes'] as const) {
        const answer = await sendOver(fetch)({ url }, { operator: url, maxBytes: 100_000 })
        expect(Number(answer.headers.get('content-length') ?? packed.length)).toBeLessThan(100_000)
        expect(await failureOf(answer[read]())).toBe('too_large')
      }
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('comes piece by piece: nothing is read ahead of who reads it', async () => {
    let pulled = 0
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled += 1
          controller.enqueue(Uint8Array.of(pulled))
        },
      },
      { highWaterMark: 0 },
    )
    const answer = await sendOver(async () => new Response(body))(
      { url: 'https://a.example/' },
      rules,
    )
    expect([await answer.read(), pulled]).toEqual([Uint8Array.of(1), 1])
    const reader = (await answer.toResponse()).body!.getReader()
    expect([(await reader.read()).value, pulled]).toEqual([Uint8Array.of(2), 2])
  })

  it.each(['before it begins', 'while it is read'])('is late %s', async (when) => {
    const clock = createFakeClock()
    let signal: AbortSignal | null | undefined
    const network: Carrier = async (_url, init) => {
      signal = init.signal
      return when === 'while it is read'
        ? new Response(new ReadableStream())
        : new Promise(() => {})
    }
    const send = sendOver(network, clock)
    const reading = failureOf(
      send({ url: 'https://a.example/' }, { ...rules, timeoutMs: 1_000 }).then((one) => one.text()),
    )
    await clock.advance(999)
    expect(signal?.aborted).toBe(false)
    await clock.advance(1)
    expect([await reading, signal?.aborted]).toEqual(['late', true])
  })

  it.each([
    ['zstd', 'zstd'],
    ['GZIP', 'GZIP'],
    ['gzip', null],
    ['identity', null],
  ])('keeps the name of an encoding that was not undone (%s)', async (encoding, left) => {
    const network: Carrier = async () =>
      new Response('x', { headers: { 'content-encoding': encoding, 'content-length': '1' } })
    const answer = await sendOver(network)({ url: 'https://a.example/' }, rules)
    const { headers } = await answer.toResponse()
    expect([headers.get('content-encoding'), headers.has('content-length')]).toEqual([left, false])
  })
})

describe('the address that an operator set', () => {
  it('is parsed once, however often it is asked, and is each setting its own', async () => {
    const parse = vi.spyOn(URL, 'parse')
    const asked: string[] = []
    const send = sendOver(async (url) => {
      asked.push(url)
      return new Response('ok')
    })
    const ask = (url: string) => send({ url }, { ...rules, operator: url })
    for (let calls = 0; calls < 3; calls += 1) await ask('http://10.0.0.1/v1')
    expect(parse).toHaveBeenCalledTimes(1)
    for (const url of ['http://10.0.0.2/v1', 'http://10.0.0.1/v1']) await ask(url)
    expect(asked.slice(3)).toEqual(['http://10.0.0.2/v1', 'http://10.0.0.1/v1'])
    // The operator of one address vouches for no other, whatever was asked before.
    const other = { ...rules, operator: 'https://login.example.com' }
    expect(await failureOf(send({ url: 'http://10.0.0.1/v1' }, other))).toBe('refused')
    expect(await failureOf(send({ url: 'http://10.0.0.1/v1' }, rules))).toBe('refused')
    parse.mockRestore()
  })
})
