import { describe, expect, it } from 'vitest'
import { followRun } from '../../../../src/runtime/session/entry/converse.ts'

async function cancelsOf(isCancelledByClose: boolean) {
  const cancelled: unknown[] = []
  const connection = new AbortController()
  const answer = async () => ({ ok: true, value: { state: 'running' } })
  const api = {
    result: answer,
    cancel: (...given: unknown[]) => (cancelled.push(given), answer()),
  } as never
  const followed = followRun({
    api,
    principal: 'ann',
    run: 'run_1',
    stream: new ReadableStream<Uint8Array>(),
    waitMs: 1,
    clock: {
      nowMs: () => 0,
      sleep: (_ms, signal) =>
        new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    },
    signal: connection.signal,
    isCancelledByClose,
    onItem: () => undefined,
    keepAlive: () => undefined,
  })
  connection.abort()
  expect(await followed).toMatchObject({ state: 'running' })
  return cancelled.length
}

describe('a request that is closed', () => {
  it('cancels its run for a client of 2026-07-28', async () => {
    expect(await cancelsOf(true)).toBe(1)
  })

  it('is no cancel for a client of 2025: it may have lost its connection', async () => {
    expect(await cancelsOf(false)).toBe(0)
  })
})
