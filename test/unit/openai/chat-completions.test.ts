import { describe, expect, it } from 'vitest'
import { sessionProtocol } from '../../../src/runtime/session/types/submission.ts'
import {
  createFakeApp,
  delta,
  errorOf,
  linesOf,
  parked,
  resultOf,
  testRun,
  testSession,
  testTrace,
} from '../../fakes/http-deps.ts'
import { problemsOf } from '../../fakes/openai-schema.ts'

const path = '/v1/chat/completions'
const user = { role: 'user', content: 'Hi' }
const plain = { model: 'orchestrator', messages: [user] }

describe('a chat completion', () => {
  it('M6: has the shape OpenAI describes', async () => {
    const { send } = createFakeApp({ result: resultOf({ startedAtMs: 1_780_000_000_999 }) })
    const response = await send(path, { json: plain })
    const body = await response.json()
    expect(response.status).toBe(200)
    expect(problemsOf('CreateChatCompletionResponse', body)).toEqual([])
    expect(body).toEqual({
      id: `chatcmpl-${testRun}`,
      object: 'chat.completion',
      created: 1_780_000_000,
      model: 'orchestrator',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    })
  })

  it('names session, run and trace in its headers', async () => {
    const { headers } = await createFakeApp().send(path, { json: plain })
    expect(headers.get('x-isola-session')).toMatch(/^ses_\d{22}$/)
    expect(headers.get('x-isola-run')).toBe(testRun)
    expect(headers.get('x-isola-trace')).toBe(testTrace)
  })

  it('of a run that hit a limit is cut for length and keeps the text', async () => {
    const result = resultOf({ state: 'stopped', success: false, result: 'So far' })
    const body = await (await createFakeApp({ result }).send(path, { json: plain })).json()
    const choice = { finish_reason: 'length', message: { content: 'So far' } }
    expect(body).toMatchObject({ choices: [choice] })
  })

  it.each([
    ['failed', { code: 'model_rate_limited', message: 'Busy.' }, 429, 'rate_limit_error', 'Busy.'],
    ['failed', { code: 'model_timeout', message: 'Slow.' }, 504, 'server_error', 'Slow.'],
    [
      'failed',
      { code: 'internal', message: 'secret' },
      500,
      'server_error',
      'Something went wrong',
    ],
    ['cancelled', undefined, 409, 'invalid_request_error', 'The run was cancelled'],
  ] as const)('of a %s run (%j) is a %i %s', async (state, error, status, type, message) => {
    const result = resultOf({ state, success: false, ...(error && { error }) })
    const response = await createFakeApp({ result }).send(path, { json: plain })
    const body = await errorOf(response)
    expect([response.status, body.type]).toEqual([status, type])
    expect(body.message).toContain(message)
    expect(problemsOf('Error', body)).toEqual([])
    expect(response.headers.get('x-isola-run')).toBe(testRun)
  })

  it('of a run whose log ends early says that it broke off', async () => {
    const stream = () => linesOf([delta('Hello')])
    const response = await createFakeApp({ outcome: parked, stream }).send(path, { json: plain })
    expect([response.status, (await errorOf(response)).code]).toEqual([503, 'unavailable'])
  })

  it('ignores fields and nulls it does not know', async () => {
    const nulls = { temperature: null, stop: null, tools: null, n: null, stream: null, seed: null }
    const json = { ...plain, ...nulls, user: 'u', metadata: { a: 'b' }, store: true, unknown: [1] }
    expect((await createFakeApp().send(path, { json })).status).toBe(200)
  })
})

describe('what a chat request submits', () => {
  async function submit(body: object, headers: Record<string, string> = {}) {
    const fake = createFakeApp()
    const response = await fake.send(path, { json: { ...plain, ...body }, headers })
    expect(response.status, await response.clone().text()).toBe(200)
    return { ...fake, submission: fake.submitted(), session: fake.calls[0]?.session }
  }

  it.each([
    ['orchestrator', { agent: 'orchestrator' }],
    ['code-reviewer', { agent: 'code-reviewer' }],
    ['scripted/other', { agent: 'orchestrator', model: 'scripted/other' }],
    ['gpt-test', { agent: 'orchestrator', model: 'gpt-test' }],
  ])('for model %s goes to %j', async (model, target) => {
    const { submission } = await submit({ model })
    expect(submission).toMatchObject(target)
    expect('model' in submission).toBe('model' in target)
  })

  it('F32: says which protocol it speaks, and that only its own tools may wait', async () => {
    const { submission } = await submit({})
    expect(submission).toMatchObject({ protocol: sessionProtocol, pauses: 'client_tools' })
  })

  it('joins text parts, keeps images and labels every message', async () => {
    const content = [
      { type: 'text', text: 'What is' },
      { type: 'text', text: 'this?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } },
    ]
    const { submission } = await submit({ messages: [{ role: 'user', content, name: 'me' }] })
    expect(submission.messages).toEqual([
      {
        role: 'user',
        text: 'What is\nthis?',
        images: [{ url: 'data:image/png;base64,AA==', detail: 'low' }],
        name: 'me',
        taint: ['user'],
      },
    ])
  })

  it('puts system and developer messages beside the transcript', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      user,
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      user,
    ]
    const { submission } = await submit({ messages })
    expect(submission.clientInstructions).toBe('Be brief.\n\nBe kind.')
    expect(submission.messages.map(({ role }) => role)).toEqual(['user', 'user'])
  })

  const history = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'One' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '2' },
    { role: 'assistant', content: 'Two' },
    { role: 'user', content: 'Three' },
  ]

  it('imports the whole list into a new session when none is named', async () => {
    const { submission, session } = await submit({ messages: history })
    expect(session).toMatch(/^ses_\d{22}$/)
    expect(submission.messages).toEqual([
      { role: 'user', text: 'One', taint: ['user'] },
      {
        role: 'assistant',
        text: '',
        toolCalls: [{ id: 'c1', name: 'add', input: { a: 1 } }],
        taint: ['user', 'model'],
      },
      {
        role: 'tool',
        callId: 'c1',
        name: 'add',
        output: '2',
        isError: false,
        taint: ['user', 'tool:add'],
      },
      { role: 'assistant', text: 'Two', taint: ['user', 'model'] },
      { role: 'user', text: 'Three', taint: ['user'] },
    ])
  })

  it('appends only what follows the last assistant message to a named session', async () => {
    const { submission, session } = await submit(
      { messages: history },
      { 'x-isola-session': 'my chat' },
    )
    expect(session).toBe(`ses_${btoa('named|operator|my chat').replace(/\W/g, '')}`)
    expect(submission.messages).toEqual([{ role: 'user', text: 'Three', taint: ['user'] }])
    expect(submission.clientInstructions).toBe('Be brief.')
  })

  it('takes a session id for the session itself', async () => {
    expect((await submit({}, { 'x-isola-session': testSession })).session).toBe(testSession)
    expect((await submit({}, { 'x-isola-session': `${testSession}x` })).session).not.toBe(
      testSession,
    )
  })

  it('takes no other client header for a session', async () => {
    const headers = { 'x-session-id': 'a', 'session-id': 'b', 'x-session-affinity': 'c' }
    expect((await submit({}, headers)).session).toMatch(/^ses_\d{22}$/)
  })

  it('carries an idempotency key, which also names the session of a stateless call', async () => {
    const first = await submit({}, { 'idempotency-key': 'k1' })
    const again = await submit({}, { 'idempotency-key': 'k1' })
    const other = await submit({}, { 'idempotency-key': 'k2' })
    expect(first.submission.idempotencyKey).toBe('k1')
    expect(again.session).toBe(first.session)
    expect(other.session).not.toBe(first.session)
  })

  it('maps sampling settings; the newer name of the output cap wins', async () => {
    const settings = { temperature: 0.2, top_p: 0.9, max_tokens: 5, stop: 'END', seed: -7 }
    const { submission } = await submit({ ...settings, max_completion_tokens: 6 })
    expect(submission.parameters).toEqual({
      temperature: 0.2,
      topP: 0.9,
      maxOutputTokens: 6,
      stop: ['END'],
      seed: -7,
    })
  })

  const trace = '0af7651916cd43dd8448eb211c80319c'
  it.each([
    [`00-${trace}-b7ad6b7169203331-01`, trace],
    [`01-${trace}-b7ad6b7169203331-01-more`, trace],
    [`00-${trace}-b7ad6b7169203331-01-more`, testTrace],
    [`ff-${trace}-b7ad6b7169203331-01`, testTrace],
    [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, testTrace],
    [`00-${trace}-${'0'.repeat(16)}-01`, testTrace],
    [`00-${trace.toUpperCase()}-b7ad6b7169203331-01`, testTrace],
    ['nonsense', testTrace],
  ])('with traceparent %s has trace %s', async (traceparent, expected) => {
    expect((await submit({}, { traceparent })).submission.trace).toBe(expected)
  })

  it.each([
    ['00', 'vendor=a, other@system=b', { isSampled: false, state: 'vendor=a,other@system=b' }],
    ['01', 'not a list', { isSampled: true }],
  ])('N7: hands on who asked, flags %s and the tracestate %s', async (flags, tracestate, link) => {
    const traceparent = `00-${trace}-b7ad6b7169203331-${flags}`
    const { submission } = await submit({}, { traceparent, tracestate })
    expect(submission.traceLink).toEqual({ span: 'b7ad6b7169203331', ...link })
  })

  it('hands on nothing of a trace that begins here', async () => {
    const { submission } = await submit({}, { traceparent: 'nonsense', tracestate: 'vendor=a' })
    expect(submission).not.toHaveProperty('traceLink')
  })
})
