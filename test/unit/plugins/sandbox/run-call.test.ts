import { describe, expect, it } from 'vitest'
import type { Clock } from '#contracts/sources.ts'
import type { CallStubs } from '../../../../src/features/plugins/sandbox/inside/capabilities.ts'
import { runCall } from '../../../../src/features/plugins/sandbox/run-call.ts'
import type { Isolate } from '../../../../src/features/plugins/sandbox/worker-code.ts'

const never = new Promise<never>(() => {})
/** A clock by which a call is never short, and never takes too long. */
const patient: Clock = {
  nowMs: () => 0,
  sleep: (ms) => (ms < 1_000 ? Promise.resolve() : never),
}

interface World {
  readonly run: Isolate['run']
  readonly clock?: Clock
  readonly closed?: CallStubs['closed']
}

function call({ run, clock = patient, closed = () => never }: World): Promise<string> {
  const stubs: CallStubs = {
    port: async () => '{"value":1}',
    fetcher: async () => new Response('x'),
    closed,
  }
  const request = { isolate: 'i', plugin: 'p', job: '{}', timeoutMs: 1_000, maxChars: 100 }
  return runCall(
    { isolates: { open: () => ({ run }), openModelCode: () => ({ run }) }, clock },
    request,
    stubs,
  )
}

const code = async (world: World): Promise<unknown> => {
  const { error } = JSON.parse(await call(world)) as { error: { code: string; message: string } }
  expect(error.message).not.toContain('secret')
  return error.code
}

describe('the Runner', () => {
  it('hands on a text as it is', async () => {
    expect(await call({ run: async () => '{"value":7}' })).toBe('{"value":7}')
  })

  it.each([7, undefined, null, {}, { length: 1 }, () => 'x', new Response('x')])(
    'T9: hands on nothing but a text (%s)',
    async (answer) => {
      expect(await code({ run: async () => answer })).toBe('odd_answer')
    },
  )

  it('T9: hands on no text that is too long', async () => {
    expect(await code({ run: async () => 'x'.repeat(101) })).toBe('too_large')
  })

  it('T9: hands on no word of an error', async () => {
    const run = () => Promise.reject(Object.assign(new Error('secret'), { retryable: true }))
    expect(await code({ run })).toBe('crashed')
  })

  it('F24: ends a call that takes too long', async () => {
    const slept: number[] = []
    const sleep = async (ms: number): Promise<void> => void slept.push(ms)
    expect(await code({ run: () => never, clock: { ...patient, sleep } })).toBe('timeout')
    expect(slept).toContain(1_000)
  })

  it('T10: ends a call that the session ended, also by going away', async () => {
    expect(await code({ run: () => never, closed: async () => {} })).toBe('closed')
    const gone = () => Promise.reject(new Error('the object is gone'))
    expect(await code({ run: () => never, closed: gone })).toBe('closed')
  })

  it('T8: ends a call that asks too much', async () => {
    const run: Isolate['run'] = async (_job, port) => {
      for (let asked = 0; asked < 2_000; asked += 1) await port('log', '[]')
      return never
    }
    expect(await code({ run })).toBe('exceeded')
  })

  it('T10: ends what it handed out when the call is over', async () => {
    const kept: { port?: CallStubs['port'] } = {}
    const run: Isolate['run'] = async (_job, port) => {
      kept.port = port
      return 'done'
    }
    expect(await call({ run })).toBe('done')
    expect(await kept.port?.('log', '[]')).toContain('This call is over.')
  })

  it('says that there is no code where there are no isolates', async () => {
    const stubs: CallStubs = {
      port: async () => '',
      fetcher: async () => '',
      closed: () => never,
    }
    const request = { isolate: 'i', plugin: 'p', job: '{}', timeoutMs: 1, maxChars: 100 }
    const answer = await runCall({ isolates: undefined, clock: patient }, request, stubs)
    expect(answer).toContain('plugin_code_unavailable')
  })
})
