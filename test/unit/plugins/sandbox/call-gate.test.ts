import { describe, expect, it } from 'vitest'
import { callCaps, createCallGate } from '../../../../src/features/plugins/sandbox/call-gate.ts'

/** A gate over stubs that count what gets to them. */
function createWorld() {
  const asked: string[] = []
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const gate = createCallGate({
    port: async (verb) => {
      asked.push(verb)
      if (verb === 'slow') await held
      return 'served'
    },
    fetcher: async (json) => {
      asked.push(json)
      return new Response('page')
    },
    closed: () => new Promise(() => {}),
  })
  return { gate, asked, release }
}

describe('the gate of one call', () => {
  it('lets through what a call may ask', async () => {
    const { gate, asked } = createWorld()
    expect(await gate.stubs.port('log', '[]')).toBe('served')
    expect(await gate.stubs.fetcher('{}')).toBeInstanceOf(Response)
    expect(asked).toEqual(['log', '{}'])
  })

  it('T10: is shut after the call, for what is asked and for what is still under way', async () => {
    const { gate, asked, release } = createWorld()
    const slow = gate.stubs.port('slow', '[]')
    const closed = gate.stubs.closed()
    gate.close()
    release()
    await closed
    const over = '{"error":{"message":"This call is over.","transient":false}}'
    expect(await slow).toBe(over)
    expect(await gate.stubs.port('log', '[]')).toBe(over)
    expect(await gate.stubs.fetcher('{}')).toBe(over)
    expect(asked).toEqual(['slow'])
  })

  it('T8: counts what is asked, and says when it is too much', async () => {
    const { gate, asked } = createWorld()
    const flood = Array.from({ length: callCaps.maxPortCalls + 1 }, () =>
      gate.stubs.port('log', ''),
    )
    const answers = await Promise.all(flood)
    expect(asked).toHaveLength(callCaps.maxPortCalls)
    expect(answers.at(-1)).toContain('asked too much')
    expect(await gate.exceeded).toBe('made more than 1000 calls of the host')
  })

  it('T8: asking when the call ends is counted as well', async () => {
    const { gate } = createWorld()
    for (let at = 0; at <= callCaps.maxPortCalls; at += 1) void gate.stubs.closed()
    expect(await gate.exceeded).toBe('made more than 1000 calls of the host')
  })

  it('says nothing of a session that is gone', async () => {
    const fail = () => Promise.reject(new Error('secret'))
    const gate = createCallGate({ port: fail, fetcher: fail, closed: () => new Promise(() => {}) })
    const unserved = '{"error":{"message":"The host did not answer.","transient":true}}'
    expect(await gate.stubs.port('log', '[]')).toBe(unserved)
    expect(await gate.stubs.fetcher('{}')).toBe(unserved)
  })

  it('T8: counts requests apart', async () => {
    const { gate, asked } = createWorld()
    for (let at = 0; at <= callCaps.maxFetches; at += 1) await gate.stubs.fetcher('{}')
    expect(asked).toHaveLength(callCaps.maxFetches)
    expect(await gate.exceeded).toBe('made more than 100 requests')
  })

  it.each([[{}], [undefined], ['x'.repeat(callCaps.maxJsonChars + 1)], [() => 'x']])(
    'T8: hands on no argument but a text that is short enough',
    async (odd) => {
      const { gate, asked } = createWorld()
      expect(await gate.stubs.port('log', odd as string)).toContain('Arguments are JSON text')
      expect(await gate.stubs.fetcher(odd as string)).toContain('Arguments are JSON text')
      expect(asked).toEqual([])
    },
  )
})
