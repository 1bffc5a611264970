import { describe, expect, it } from 'vitest'
import { toEventStream, type StreamView } from '../../../src/platform/routes/event-stream.ts'
import { createFakeClock } from '../../fakes/kernel.ts'

const view: StreamView = {
  opening: '',
  show: (item) => `data: ${item.type}\n\n`,
  isComplete: () => false,
  close: () => 'data: end\n\n',
  fail: () => 'data: failed\n\n',
}

function setUp() {
  const clock = createFakeClock()
  const source = new TransformStream<string, string>()
  const writer = source.writable.getWriter()
  const ends: string[] = []
  const body = toEventStream(source.readable.pipeThrough(new TextEncoderStream()), view, {
    clock,
    onEnd: (how) => ends.push(how),
  })
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  return { clock, writer, ends, read: async () => (await reader.read()).value, reader }
}

describe('a stream of server-sent events', () => {
  it('says that it is there in every 2.5 seconds of silence', async () => {
    const { clock, read } = setUp()
    const first = read()
    await clock.advance(2_500)
    expect(await first).toBe(': still here\n\n')
    const second = read()
    await clock.advance(2_500)
    expect(await second).toBe(': still here\n\n')
  })

  it('counts the silence from the last item', async () => {
    const { clock, writer, read } = setUp()
    const item = read()
    await clock.advance(2_000)
    void writer.write('{"type":"run_started"}\n')
    expect(await item).toBe('data: run_started\n\n')
    const next = read()
    await clock.advance(2_000)
    void writer.write('{"type":"turn_started"}\n')
    expect(await next).toBe('data: turn_started\n\n')
  })

  it('is told of once when it ends, and says nothing after', async () => {
    const { clock, writer, ends, read } = setUp()
    const last = read()
    await writer.close()
    expect(await last).toBe('data: end\n\n')
    await clock.advance(10_000)
    expect(await read()).toBeUndefined()
    expect(ends).toEqual(['complete'])
  })

  it('tells of no fault when its client went away while it waited, as the platform has it', async () => {
    const faults: unknown[] = []
    const waiting = Promise.withResolvers<never>()
    // A stream of another object: to cancel it fails the read that waits, where a stream of this one ends it.
    const source = {
      getReader: () => ({
        read: () => waiting.promise,
        cancel: async () => waiting.reject(new Error('Stream was cancelled.')),
      }),
    } as unknown as ReadableStream<Uint8Array>
    const ends: string[] = []
    const body = toEventStream(
      source,
      { ...view, fail: (error) => `data: ${faults.push(error)}\n\n` },
      { clock: createFakeClock(), onEnd: (how) => ends.push(how) },
    )
    const reader = body.getReader()
    const read = reader.read()
    await new Promise((resolve) => setTimeout(resolve))
    await reader.cancel()
    await read
    await new Promise((resolve) => setTimeout(resolve))
    expect([faults, ends]).toEqual([[], ['gone']])
  })
})
