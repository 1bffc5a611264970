import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, readSse } from '../fakes/client.ts'
import { eventProblems } from '../fakes/open-responses-schema.ts'
import {
  endedOf,
  expectAsLabelled,
  expectSettled,
  hurry,
  named,
  request,
  someone,
  streamed,
  withFault,
} from '../faults/upstream-wire.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('M6: G6: an upstream fault in', () => {
  it.each(named(streamed))('a streamed response: %s', async (_name, fault) => {
    const who = await someone()
    hurry(fault)
    const requests = withFault(fault, 'agent')
    const json = { ...request, stream: true }
    const response = await call('/v1/responses', { json, headers: who.headers })
    // A fault before the first piece has a status; a fault later than ten seconds ends the stream with an error.
    if (response.status !== 200) {
      const { error } = await response.json<{ error: { code: string; message: string } }>()
      expect([error.code, fault.partial ?? '']).toEqual([fault.code, ''])
      expect(error.message).not.toMatch(/upstream words|sign in/)
      expect(response.headers.get('x-should-retry')).toBe('false')
      expect(requests()).toEqual([fault.requests])
      return expectSettled(who, fault.requests)
    }
    const events = await readSse(response)
    const items = events.map(({ data }) => data).filter((data) => data !== '[DONE]')
    for (const item of items) expect([item.type, eventProblems(item)]).toEqual([item.type, []])
    expect(events.at(-1)?.data).toBe('[DONE]')
    expectAsLabelled(fault, endedOf(events))
    const deltas = items.map(({ type, delta }) =>
      type === 'response.output_text.delta' ? delta : '',
    )
    expect(deltas.join('')).toBe(fault.code ? (fault.partial ?? '') : (fault.text ?? 'all well'))
    expect(requests()).toEqual([fault.requests])
    await expectSettled(who, fault.requests)
  })
})
