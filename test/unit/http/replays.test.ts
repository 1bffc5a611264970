import { describe, expect, it } from 'vitest'
import type { StreamItem } from '../../../src/contracts/event.ts'
import {
  createFakeApp,
  delta,
  errorOf,
  finished,
  linesOf,
  resultOf,
  testRun,
  testSession,
  type FakeOptions,
} from '../../fakes/http-deps.ts'

const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
const headers = { 'idempotency-key': 'k' }
const runs = `/api/sessions/${testSession}/runs`

/** The first answer, and the one to the same request an hour later, when the run is there and over. */
async function twice(path: string, json: object, options: FakeOptions = {}) {
  const first = createFakeApp(options)
  const later = createFakeApp({
    ...options,
    receipt: { isJoined: true, state: 'completed' },
  })
  // Other ids and another time than at the first request.
  for (let n = 0; n < 3; n += 1) await later.send('/healthz')
  later.tick(3_600_000)
  return {
    first: await first.send(path, { json, headers }),
    again: await later.send(path, { json, headers }),
  }
}

describe('F17, T20: a repeated request', () => {
  const failed = (code: string) =>
    resultOf({ state: 'failed', success: false, error: { code, message: 'Why.' } })

  it.each<readonly [string, string, object, FakeOptions]>([
    ['a session', '/api/sessions', { agent: 'code-reviewer', limits: { maxTurns: 3 } }, {}],
    ['a run', runs, { task: 'x' }, {}],
    ['a run that is waited for', runs, { task: 'x', wait: true }, {}],
    ['a completion', '/v1/chat/completions', chat, {}],
    ['a failed run', '/v1/chat/completions', chat, { result: failed('model_timeout') }],
    ['a run that met a bug', '/v1/chat/completions', chat, { result: failed('internal') }],
    ['a stream', '/v1/chat/completions', { ...chat, stream: true }, {}],
    [
      'a failed stream',
      '/v1/chat/completions',
      { ...chat, stream: true },
      { stream: () => linesOf([finished(failed('internal'))]) },
    ],
  ])('for %s gets the same status and the same bytes', async (_name, path, json, options) => {
    const { first, again } = await twice(path, json, options)
    expect(first.headers.get('x-request-id')).not.toBe(again.headers.get('x-request-id'))
    expect([again.status, await again.text()]).toEqual([first.status, await first.text()])
  })

  it('of a failed run quotes the run, in which an operator finds what happened', async () => {
    const { first } = await twice('/v1/chat/completions', chat, { result: failed('internal') })
    const error = await errorOf(first)
    expect(error.request_id).toBe(testRun)
    expect(error.message).toContain(testRun)
  })

  it('says so in a header', async () => {
    const { first, again } = await twice(runs, { task: 'x' })
    const seen = (response: Response) => response.headers.get('idempotent-replayed')
    expect([seen(first), seen(again)]).toEqual([null, 'true'])
  })

  it('of a stream has the trace of the run, not its own', async () => {
    const { first, again } = await twice('/v1/chat/completions', { ...chat, stream: true })
    const seen = (response: Response) =>
      ['replayed', 'trace'].map((n) =>
        response.headers.get(n === 'trace' ? 'x-isola-trace' : 'idempotent-replayed'),
      )
    expect([seen(first), seen(again)]).toEqual([
      [null, expect.any(String)],
      ['true', null],
    ])
  })

  it('of a stream reads the same text, in other pieces', async () => {
    const told: StreamItem = {
      ...(finished(resultOf()) as Extract<StreamItem, { seq: number }>),
      type: 'message_finished',
      data: { turn: 1, text: 'Hello there' },
    }
    const live = [delta('Hel'), delta('lo there', { offset: 3 }), told, finished(resultOf())]
    const read = async (items: readonly StreamItem[]) => {
      const { send } = createFakeApp({ stream: () => linesOf(items) })
      const text = await (
        await send('/v1/chat/completions', { json: { ...chat, stream: true } })
      ).text()
      return [...text.matchAll(/"content":("[^"]*")/g)]
        .map(([, part]) => JSON.parse(part!))
        .join('')
    }
    expect(await read(live)).toBe('Hello there')
    expect(await read([told, finished(resultOf())])).toBe('Hello there')
  })

  it('names the same session, and no name that a client can choose does', async () => {
    const { send, calls } = createFakeApp()
    for (const key of ['a', 'a', 'b'])
      await send('/api/sessions', { json: {}, headers: { 'idempotency-key': key } })
    for (const name of ['a', 'create', 'operator', 'createa'])
      await send('/v1/chat/completions', { json: chat, headers: { 'x-isola-session': name } })
    await send('/v1/chat/completions', { json: chat, headers: { 'idempotency-key': 'a' } })
    const [first, again, other, ...rest] = calls.map(({ session }) => session)
    expect(again).toBe(first)
    expect([other, ...rest]).not.toContain(first)
  })

  it('with another body is 422', async () => {
    const code = 'request_idempotency_mismatch'
    const refusal = { code, message: 'Another body.', param: 'Idempotency-Key' }
    for (const path of ['/api/sessions', runs]) {
      const json = path === runs ? { task: 'x' } : {}
      const response = await createFakeApp({ refusal }).send(path, { json, headers })
      expect([response.status, await errorOf(response)]).toMatchObject([
        422,
        { code: 'idempotency_mismatch', param: 'Idempotency-Key' },
      ])
    }
  })
})
