import { describe, expect, it } from 'vitest'
import {
  createFakeApp,
  delta,
  finished,
  linesOf,
  resultOf,
  testSession,
  type FakeOptions,
} from '../../fakes/http-deps.ts'

const chat = { model: 'orchestrator', messages: [{ role: 'user', content: 'Hi' }] }
const failed = (code: string) =>
  resultOf({ state: 'failed', success: false, result: '', error: { code, message: 'Why.' } })
const usedUp = resultOf({
  state: 'stopped',
  success: false,
  result: '',
  error: { code: 'request_insufficient_quota', message: 'The day is used up.' },
})

const surfaces = [
  ['chat', '/v1/chat/completions', chat],
  ['responses', '/v1/responses', { model: 'orchestrator', input: 'Hi' }],
] as const

async function ask(path: string, json: object, options: FakeOptions) {
  const response = await createFakeApp(options).send(path, { json })
  const body = (await response.json()) as { error: { code: string; type: string } }
  return { response, error: body.error, retry: response.headers.get('x-should-retry') }
}

describe('M6: the openai package sends no request again whose run has begun', () => {
  it.each(
    surfaces.flatMap(([name, path, json]) =>
      (
        [
          ['model_network', 502],
          ['model_unavailable', 502],
          ['model_rate_limited', 429],
          ['model_timeout', 504],
          ['internal', 500],
        ] as const
      ).flatMap(([code, status]) => [
        [`${name}, ${code}`, path, json, { result: failed(code) }, status] as const,
        [
          `${name}, streamed, ${code}`,
          path,
          { ...json, stream: true },
          { stream: () => linesOf([finished(failed(code))]) },
          status,
        ] as const,
      ]),
    ),
  )('%s: has its status and x-should-retry: false', async (_name, path, json, options, status) => {
    const { response, retry } = await ask(path, json, options)
    expect([response.status, retry]).toEqual([status, 'false'])
  })

  it('a request that was refused before anything began may come again', async () => {
    const { response, retry } = await ask('/v1/chat/completions', { ...chat, messages: [] }, {})
    expect([response.status, retry]).toEqual([400, null])
    const path = `/api/sessions/${testSession}/runs`
    expect((await ask(path, { task: 1 }, {})).retry).toBeNull()
  })
})

describe('a stream that has a status', () => {
  it.each(surfaces)(
    '%s: what fails after the first piece ends its stream',
    async (_name, path, json) => {
      const stream = () => linesOf([delta('Hel'), finished(failed('model_network'))])
      const response = await createFakeApp({ stream }).send(path, {
        json: { ...json, stream: true },
      })
      expect(response.status).toBe(200)
      expect(await response.text()).toContain('model_network')
    },
  )

  it.each(surfaces)(
    '%s: what comes after ten seconds is agreed by then',
    async (_name, path, json) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
      const fake = createFakeApp({ stream: () => readable })
      const sent = fake.send(path, { json: { ...json, stream: true } })
      await new Promise((resolve) => setTimeout(resolve, 5))
      fake.tick(10_000)
      const response = await sent
      expect(response.status).toBe(200)
      const writer = writable.getWriter()
      const line = `${JSON.stringify(finished(failed('model_network')))}\n`
      void writer.write(new TextEncoder().encode(line)).then(() => writer.close())
      expect(await response.text()).toContain('model_network')
    },
  )
})

describe('M6: a day that cannot pay for the next call is 429 insufficient_quota', () => {
  it.each(
    surfaces.flatMap(([name, path, json]) => [
      [name, path, json, { result: usedUp }] as const,
      [
        `${name}, streamed`,
        path,
        { ...json, stream: true },
        { stream: () => linesOf([finished(usedUp)]) },
      ] as const,
    ]),
  )('%s', async (_name, path, json, options) => {
    const { response, error, retry } = await ask(path, json, options)
    expect([response.status, error.code, error.type, retry]).toEqual([
      429,
      'insufficient_quota',
      'insufficient_quota',
      'false',
    ])
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('a run that has said something ends with that', async () => {
    const response = await createFakeApp({
      result: { ...usedUp, result: 'Half of it' },
    }).send('/v1/chat/completions', { json: chat })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('Half of it')
  })
})

describe('C7: the spending of a principal', () => {
  it('is shown to that principal, and to no other', async () => {
    const { send } = createFakeApp()
    expect((await send('/api/usage')).status).toBe(200)
    expect((await send('/api/usage?by=model')).status).toBe(200)
    expect((await send('/api/usage?principal=bob')).status).toBe(400)
  })
})

describe('a limit that is under one model call is told when it is made', () => {
  it.each([
    [{ dailyTokens: 3_000 }, /dailyTokens: 3000 tokens is under/],
    [{ dailyTokens: 100 }, /nothing is answered/],
    [{ dailyTokens: 50_000 }, undefined],
  ])('%j', async (limits, warning) => {
    const json = { principal: 'ann', role: 'user', limits }
    const response = await createFakeApp().send('/api/operator/keys', { json })
    const { warnings } = (await response.json()) as { warnings?: string[] }
    if (warning) expect(warnings?.join()).toMatch(warning)
    else expect(warnings).toBeUndefined()
  })
})
