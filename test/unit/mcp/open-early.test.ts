import { describe, expect, it } from 'vitest'
import { isClosable, openEarly } from '../../../src/surfaces/mcp/mcp.ts'

const atOnce = { sleep: async () => {} }
const never = { sleep: () => new Promise<void>(() => {}) }
const here = new AbortController().signal
const onFault = () => ({ id: 1, error: 'told' })

/** An answer that comes when the test says so. */
function later() {
  const { promise, resolve } = Promise.withResolvers<Response>()
  let signal: AbortSignal | undefined
  const answer = (given: AbortSignal) => {
    signal = given
    return promise
  }
  return { answer, resolve, isCancelled: () => signal?.aborted }
}

describe('an answer over /mcp', () => {
  it('is as it is if it comes soon', async () => {
    const answer = async () => Response.json({ id: 1 }, { status: 400 })
    const response = await openEarly({ signal: here, clock: never, answer, onFault })
    expect([response.status, await response.json()]).toEqual([400, { id: 1 }])
  })

  it('that takes a while is a stream that ends with it, whichever form it has', async () => {
    const frames = 'data: {"progress":1}\n\ndata: {"id":1}\n\n'
    const headers = { 'content-type': 'text/event-stream' }
    for (const [said, expected] of [
      [Response.json({ id: 1 }), 'data: {"id":1}\n\n'],
      [new Response(frames, { headers }), frames],
    ] as const) {
      const { answer, resolve } = later()
      const response = await openEarly({ signal: here, clock: atOnce, answer, onFault })
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      resolve(said)
      expect(await response.text()).toBe(`: it takes a moment\n\n${expected}`)
    }
  })

  it('that fails after its stream began says so in it', async () => {
    const answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      throw new Error('a bug')
    }
    const response = await openEarly({ signal: here, clock: atOnce, answer, onFault })
    expect(await response.text()).toContain('data: {"id":1,"error":"told"}')
  })

  it('is cancelled by the client that closes it, before or after its stream began', async () => {
    const gone = new AbortController()
    const before = later()
    void openEarly({ signal: gone.signal, clock: never, answer: before.answer, onFault })
    gone.abort()
    expect(before.isCancelled()).toBe(true)
    const after = later()
    const response = await openEarly({ signal: here, clock: atOnce, answer: after.answer, onFault })
    expect(after.isCancelled()).toBe(false)
    await response.body?.cancel()
    expect(after.isCancelled()).toBe(true)
  })

  it('is such a stream for clients that cancel by closing, and for no others', () => {
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    expect(isClosable({ id: 1, params: { _meta } })).toBe(true)
    expect(isClosable({ id: 1, params: {} })).toBe(false)
    expect(isClosable({ id: 1 })).toBe(false)
    expect(isClosable({ params: { _meta } })).toBe(false)
  })
})
