import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse } from '../fakes/client.ts'

// docs/reliability.md F12–F14 once more, through the whole Worker and on workerd's own streams; the table of all
// faults is in test/faults/upstream-faults.test.ts.

afterEach(() => {
  vi.restoreAllMocks()
})

type Answer = (signal: AbortSignal | null | undefined) => Response | Promise<Response>

/** Answers the model's requests in order. */
function withAnswers(...answers: readonly Answer[]) {
  const requests: RequestInit[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_input, init = {}) => {
    requests.push(init)
    // The server has the whole request: what breaks from here on may be billed.
    await new Response(init.body).text()
    const answer = answers[requests.length - 1]
    if (!answer) throw new Error('the script is over')
    return answer(init.signal)
  })
  return requests
}

const sse = { headers: { 'content-type': 'text/event-stream' } }
const event = (body: unknown): string => `data: ${JSON.stringify(body)}\n\n`
const delta = (of: object, reason: string | null = null): string =>
  event({ choices: [{ index: 0, delta: of, finish_reason: reason }] })

/** A body of these pieces that then breaks. */
const breaking = (...pieces: readonly string[]): Answer => {
  const left = [...pieces]
  return () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          const piece = left.shift()
          if (piece === undefined) controller.error(new Error('Network connection lost.'))
          else controller.enqueue(new TextEncoder().encode(piece))
        },
      }),
      sse,
    )
}

const completion = (content: string): Answer => {
  const message = { role: 'assistant', content }
  const usage = { prompt_tokens: 100, completion_tokens: 10 }
  return () => Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
}

/** A run that no client streams: its reply is asked for in one piece. */
async function runTask() {
  const { id } = await callJson('/api/sessions', { json: {} })
  return (await callJson(`/api/sessions/${id}/runs`, { json: { task: 'go', wait: true } })).result
}

describe('a run whose model', () => {
  it('F12: refuses, breaks and then answers is booked what may have been billed', async () => {
    const requests = withAnswers(
      () => new Response('{}', { status: 503, headers: { 'retry-after': '0' } }),
      () => Promise.reject(new Error('Network connection lost.')),
      completion('all well'),
    )
    const result = await runTask()
    expect(result).toMatchObject({ state: 'completed', result: 'all well' })
    expect(requests).toHaveLength(3)
    expect(result.usage.modelCalls).toBe(3)
    expect(result.usage.tokens).toBeGreaterThan(4_096 + 110)
    expect(result.usage.tokens).toBeLessThan(2 * 8_192)
    expect(result.usage.unconfirmed.tokens).toBe(result.usage.tokens - 110)
  })

  it('F12: never got the whole request is not booked, however often it was tried', async () => {
    const spy = vi
      .spyOn(globalThis, 'fetch')
      .mockRejectedValue(new Error('Network connection lost.'))
    const result = await runTask()
    expect(result).toMatchObject({
      state: 'failed',
      error: { code: 'model_network' },
      usage: { tokens: 0, costNanoUsd: 0, modelCalls: 0 },
    })
    expect(result.usage.unconfirmed).toBeUndefined()
    expect(spy.mock.calls.length).toBe(3)
  })

  it('F12: sends somewhere else is not followed', async () => {
    const requests = withAnswers(
      () => new Response(null, { status: 307, headers: { location: 'https://evil.test/' } }),
    )
    const result = await runTask()
    expect(result).toMatchObject({
      state: 'failed',
      error: { code: 'model_refused_request' },
      usage: { tokens: 0 },
    })
    expect(requests.map(({ redirect }) => redirect)).toEqual(['manual'])
  })

  it('F14: never stops sending fails clearly', async () => {
    withAnswers(() => {
      const piece = new TextEncoder().encode(' '.repeat(1_048_576))
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(piece) })
      return new Response(body, { headers: { 'content-type': 'application/json' } })
    })
    const result = await runTask()
    expect(result).toMatchObject({ state: 'failed', error: { code: 'model_invalid_reply' } })
    expect(result.usage.tokens).toBeGreaterThan(4_096)
  })

  it('F13: breaks in the middle runs no half-received call, and the record says how much was seen', async () => {
    const args = '{"task":"x"'
    const requests = withAnswers(
      breaking(
        delta({ content: 'I will ' }),
        delta({
          tool_calls: [
            { index: 0, id: 'a', function: { name: 'code-reviewer__run', arguments: args } },
          ],
        }),
      ),
    )
    const response = await call('/v1/chat/completions', {
      json: { model: 'orchestrator', stream: true, messages: [{ role: 'user', content: 'go' }] },
    })
    const events = await readSse(response)
    const seen = events.map(({ data }) => data.choices?.[0]?.delta?.content ?? '').join('')
    expect(seen).toBe('I will ')
    expect(events.filter(({ data }) => data.error)).toMatchObject([
      { data: { error: { code: 'model_network' } } },
    ])
    await vi.waitFor(
      async () => {
        const record = await env.DB.prepare(
          `SELECT type, data FROM audit_events WHERE type IN ('model_failed', 'tool_started') ORDER BY id DESC LIMIT 1`,
        ).first<{ type: string; data: string }>()
        expect(record?.type).toBe('model_failed')
        expect(JSON.parse(record!.data)).toMatchObject({ code: 'model_network', partialChars: 7 })
      },
      { timeout: 60_000 },
    )
    expect(requests).toHaveLength(1)
  })
})
