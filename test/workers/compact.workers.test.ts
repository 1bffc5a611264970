import { abortAllDurableObjects, runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { call, callJson, readSse, type Answer } from '../fakes/client.ts'
import { eventProblems, responseProblems } from '../fakes/open-responses-schema.ts'
import { stubOf } from '../fakes/objects.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => {
  upstream?.restore()
  vi.useRealTimers()
})

const notes = 'The marker of this conversation is QUINCE-7.'
const textOf = ({ messages }: UpstreamRequest) => JSON.stringify(messages)
const isSummary = (asked: UpstreamRequest) => textOf(asked).includes('You write the notes')
const answers: UpstreamScript = (asked) => ({ text: isSummary(asked) ? notes : 'Noted.' })
const long = (what: string) => `${what} ${'lorem ipsum dolor sit amet '.repeat(40)}`

const said = (count: number) =>
  Array.from({ length: count }, (_, index) => [
    { role: 'user', content: long(`Question ${index}.`) },
    { role: 'assistant', content: long(`Answer ${index}.`) },
  ]).flat()
const toolSteps = (count: number) =>
  Array.from({ length: count }, (_, index) => [
    { type: 'function_call', call_id: `c${index}`, name: 'shell', arguments: '{"command":"ls"}' },
    { type: 'function_call_output', call_id: `c${index}`, output: long(`file-${index}.ts`) },
  ]).flat()
const compact = (input: unknown, more: object = {}): Promise<Answer> =>
  callJson('/v1/responses/compact', { json: { model: 'orchestrator', input, ...more } })

let count = 0
async function somebody(role: string) {
  const principal = `compact-${role}-${(count += 1)}`
  const { key } = await callJson('/api/operator/keys', { json: { principal, role } })
  const ask = (path: string, json?: object) =>
    call(path, { headers: { authorization: `Bearer ${key}` }, ...(json && { json }) })
  return { principal, ask }
}
/** A session of this many questions. */
async function talk(
  questions: number,
  ask = (path: string, json?: object) => call(path, { json }),
) {
  const { id } = (await (await ask('/api/sessions', {})).json()) as Answer
  for (let index = 0; index < questions; index += 1) {
    const json = { task: long(`Question ${index}.`), wait: true }
    expect((await ask(`/api/sessions/${id}/runs`, json)).status).toBe(200)
  }
  return id as string
}
const errorOf = async (response: Response) => {
  const { error } = (await response.json()) as Answer
  return [response.status, error.code, error.message]
}

describe('POST /v1/responses/compact', () => {
  it('P29: answers what the specification says, and the model goes on from it, not from what was before', async () => {
    const { requests } = withModel(answers)
    const made = await compact([...said(10), ...toolSteps(3)], { instructions: 'Be brief.' })
    expect(responseProblems('CompactResource', made)).toEqual([])
    expect(made.output.at(-1)).toMatchObject({ type: 'compaction' })
    expect(made.usage).toMatchObject({ input_tokens: 100, output_tokens: 10 })
    expect(requests.filter(isSummary)).toHaveLength(1)
    const input = [...made.output, { role: 'user', content: 'What is the marker?' }]
    const response = await callJson('/v1/responses', {
      json: { model: 'orchestrator', input, store: false },
    })
    expect(response.status).toBe('completed')
    const sent = textOf(requests.at(-1)!)
    expect(sent).toContain('QUINCE-7')
    expect(sent).toContain('What is the marker?')
    expect(sent).not.toContain(long('Answer 2.'))
    // The user's first message stays, and is there once, though it came back twice.
    expect(sent.split(long('Question 0.')).length - 1).toBe(1)
    expect(sent.length).toBeLessThan(JSON.stringify([...said(10), ...toolSteps(3)]).length)
  })

  it('keeps calls and their results together, and names no handle that cannot be opened', async () => {
    const { requests } = withModel(answers)
    const made = await compact([{ role: 'user', content: 'Fix it.' }, ...toolSteps(12)])
    const input = [...made.output, { role: 'user', content: 'Go on.' }]
    await callJson('/v1/responses', { json: { model: 'orchestrator', input, store: false } })
    const { messages } = requests.at(-1)!
    expect(JSON.stringify(messages.slice(1))).not.toContain('ses_')
    const asked = messages.flatMap(({ tool_calls: made = [] }) => made as Answer[])
    const answered = messages.filter(({ role }) => role === 'tool') as Answer[]
    expect(answered.map(({ tool_call_id: id }) => id)).toEqual(asked.map(({ id }: Answer) => id))
    expect(asked.length).toBeGreaterThan(0)
  })

  it('compacts a compaction again', async () => {
    withModel(answers)
    const once = await compact(said(10))
    const twice = await compact([...once.output, ...said(10)])
    const size = (made: Answer) => JSON.stringify(made.output.at(-1)).length
    expect(twice.output.filter(({ type }: Answer) => type === 'compaction')).toHaveLength(1)
    expect(size(twice)).toBeLessThan(size(once) * 3)
  })

  it('hands back what is too little to be compacted, without asking a model', async () => {
    const { requests } = withModel(answers)
    const made = await compact('Hello.')
    expect(responseProblems('CompactResource', made)).toEqual([])
    expect(made.output).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] },
      { type: 'compaction' },
    ])
    expect([requests.length, made.usage.total_tokens]).toEqual([0, 0])
  })

  it('is a run on the record, with what the summary cost, in a session without a name', async () => {
    withModel(answers)
    const response = await call('/v1/responses/compact', {
      json: { model: 'orchestrator', input: said(10) },
    })
    const [session, run] = ['x-isola-session', 'x-isola-run'].map((name) =>
      response.headers.get(name),
    )
    const view = await callJson(`/api/sessions/${session}/runs/${run}`)
    expect(view.result).toMatchObject({ state: 'completed', usage: { modelCalls: 1, tokens: 110 } })
    const events = await readSse(await call(`/api/sessions/${session}/events?follow=false`))
    expect(events.map(({ event }) => event)).toEqual([
      'run_started',
      'model_called',
      'context_compacted',
      'run_finished',
    ])
  })

  it('is the same under the same key', async () => {
    const { requests } = withModel(answers)
    const headers = { 'idempotency-key': 'compact-1' }
    const json = { model: 'orchestrator', input: said(10) }
    const ask = () => callJson('/v1/responses/compact', { json, headers })
    expect(await ask()).toEqual(await ask())
    expect(requests).toHaveLength(1)
  })

  it('goes by rule where no model answers', async () => {
    withModel(() => ({ status: 500 }))
    const made = await compact(said(10))
    expect(made.output.at(-1).type).toBe('compaction')
  })

  it.each<[string, object, number, string]>([
    ['nothing', {}, 400, 'model'],
    ['no input', { model: 'orchestrator', input: [] }, 400, 'input'],
    [
      'a response',
      { model: 'orchestrator', input: 'Hi', previous_response_id: 'resp_1' },
      400,
      'previous_response_id',
    ],
    ['a model that is not there', { model: 'nowhere/nobody', input: 'Hi' }, 404, 'model'],
    [
      'an output of no call',
      {
        model: 'orchestrator',
        input: [{ type: 'function_call_output', call_id: 'x', output: '' }],
      },
      400,
      'input[0]',
    ],
    [
      'only instructions',
      { model: 'orchestrator', input: [{ role: 'developer', content: 'Be brief.' }] },
      400,
      'input',
    ],
  ])('refuses %s', async (_what, json, status, param) => {
    withModel(answers)
    const response = await call('/v1/responses/compact', { json })
    const { error } = (await response.json()) as Answer
    expect([response.status, error.param]).toEqual([status, param])
  })

  it('is for those who talk to agents, and is no response that could be read', async () => {
    const { ask } = await somebody('auditor')
    const response = await ask('/v1/responses/compact', { model: 'orchestrator', input: 'Hi' })
    expect(response.status).toBe(403)
    expect((await call('/v1/responses/compact')).status).toBe(405)
  })
})

describe('a response that is asked for a compaction', () => {
  const trigger = { type: 'compaction_trigger' }
  it('has the compaction as its one item, streamed or not', async () => {
    const { requests } = withModel(answers)
    const json = { model: 'orchestrator', store: false, input: [...said(10), trigger] }
    const response = await callJson('/v1/responses', { json })
    expect(responseProblems('ResponseResource', response)).toEqual([])
    expect(response.output).toMatchObject([{ type: 'compaction' }])
    const stream = await call('/v1/responses', { json: { ...json, stream: true } })
    const events = (await readSse(stream)).map(({ data }) => data)
    expect(events.at(-1)).toBe('[DONE]')
    const told = events.slice(0, -1)
    expect(told.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    expect(told.flatMap((event) => eventProblems(event))).toEqual([])
    expect(requests.filter(isSummary)).toHaveLength(2)
  })

  it.each<[string, object]>([
    ['in the middle', { input: [trigger, { role: 'user', content: 'Hi' }] }],
    ['of nothing', { input: [trigger] }],
    ['in a conversation', { input: [...said(1), trigger], conversation: 'conv_1' }],
  ])('is refused %s', async (_where, more) => {
    withModel(answers)
    const response = await call('/v1/responses', { json: { model: 'orchestrator', ...more } })
    expect(response.status).toBe(400)
  })
})

describe('POST /api/sessions/:id/compact', () => {
  it('P29: makes what is sent less, keeps the transcript, and says what it did', async () => {
    const { requests } = withModel(answers)
    const id = await talk(10)
    const path = `/api/sessions/${id}`
    const before = await callJson(`${path}/context`)
    const { messages } = await callJson(`${path}/transcript`)
    const made = await callJson(`${path}/compact`, { json: {} })
    expect(made).toMatchObject({
      session: id,
      state: 'completed',
      compaction: { reason: 'requested', tokensBefore: before.tokens },
    })
    const after = await callJson(`${path}/context`)
    expect(after.tokens).toBe(made.compaction.tokensAfter)
    expect(after.tokens).toBeLessThan(before.tokens)
    expect((await callJson(`${path}/transcript`)).messages).toEqual(messages)
    // A later run, in another life of the object, uses the compaction.
    await abortAllDurableObjects()
    await callJson(`${path}/runs`, { json: { task: 'What is the marker?', wait: true } })
    const sent = textOf(requests.at(-1)!)
    expect(sent).toContain('QUINCE-7')
    expect(sent).not.toContain(long('Question 3.'))
  })

  it('goes on after its object was killed while the model wrote', async () => {
    let isCut = true
    const { requests } = withModel((asked) =>
      isSummary(asked) && isCut ? { wait: new Promise(() => {}) } : answers(asked, 0),
    )
    const id = await talk(10)
    const lost = call(`/api/sessions/${id}/compact`, { json: {} }).catch(() => undefined)
    await vi.waitFor(() => expect(requests.filter(isSummary)).toHaveLength(1), 5_000)
    await new Promise((resolve) => setTimeout(resolve, 100)) // not while the request is on its way out
    isCut = false
    await abortAllDurableObjects()
    await lost
    await runDurableObjectAlarm(stubOf(id))
    await vi.waitFor(
      async () => {
        const { runs } = await callJson(`/api/sessions/${id}`)
        expect(runs.at(-1)).toMatchObject({ state: 'completed' })
      },
      { timeout: 60_000, interval: 50 },
    )
    expect((await callJson(`/api/sessions/${id}/context`)).parts).toContainEqual(
      expect.objectContaining({ kind: 'summary' }),
    )
    expect(requests.filter(isSummary)).toHaveLength(2)
  })

  it('is refused while a run is not over, and where there is nothing to compact', async () => {
    withModel((asked) =>
      isSummary(asked)
        ? { text: notes }
        : { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] },
    )
    const { id } = await callJson('/api/sessions', { json: {} })
    const path = `/api/sessions/${id}`
    const tooEarly = await call(`${path}/compact`, { json: {} })
    expect(await errorOf(tooEarly)).toEqual([
      409,
      'conflict',
      expect.stringContaining('nothing to compact'),
    ])
    const json = { task: long('Set it.'), requireApproval: ['kv__*'], wait: true }
    const { id: run, state } = await callJson(`${path}/runs`, { json })
    expect(state).toBe('parked')
    const parked = await call(`${path}/compact`, { json: {} })
    expect(await errorOf(parked)).toEqual([409, 'conflict', expect.stringContaining(run)])
    expect((await callJson(path)).runs).toHaveLength(1)
  })

  it.each<[object, string]>([
    [{ force: true }, 'force'],
    [{ limits: { maxTokens: 0 } }, 'limits.maxTokens'],
    [{ model: '' }, 'model'],
  ])('refuses %j', async (json, param) => {
    withModel(answers)
    const id = await talk(1)
    const response = await call(`/api/sessions/${id}/compact`, { json })
    const { error } = (await response.json()) as Answer
    expect([response.status, error.param]).toEqual([400, param])
  })

  it('may its owner and an operator, who is on the record; no other principal learns that it is there', async () => {
    withModel(answers)
    const [ann, bob, ops, eve] = [
      await somebody('user'),
      await somebody('user'),
      await somebody('operator'),
      await somebody('auditor'),
    ]
    const id = await talk(10, ann.ask)
    const path = `/api/sessions/${id}`
    expect((await bob.ask(`${path}/compact`, {})).status).toBe(404)
    expect((await bob.ask(`${path}/context`)).status).toBe(404)
    expect((await eve.ask(`${path}/compact`, {})).status).toBe(403)
    expect((await eve.ask(`${path}/context`)).status).toBe(200)
    const made = (await (await ops.ask(`${path}/compact`, {})).json()) as Answer
    expect(made.compaction.reason).toBe('requested')
    const { records } = await callJson('/api/operator/audit?session=deployment&limit=500')
    expect(records.filter(({ data }: Answer) => data.session === id)).toMatchObject([
      {
        type: 'session_compacted',
        principal: ops.principal,
        data: { owner: ann.principal, run: made.run },
      },
    ])
  })
})

describe('GET /api/sessions/:id/context', () => {
  it('says what fills the window, part by part, and what the next request costs', async () => {
    withModel((asked) =>
      JSON.stringify(asked.messages).includes('"role":"tool"')
        ? { text: 'Done.' }
        : { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }] },
    )
    const id = await talk(2)
    const view = await callJson(`/api/sessions/${id}/context`)
    expect(view).toMatchObject({
      session: id,
      agent: 'orchestrator',
      saidMessages: expect.any(Number),
    })
    const kinds = view.parts.map(({ kind }: Answer) => kind)
    for (const kind of [
      'instructions',
      'tools',
      'user_messages',
      'assistant_messages',
      'tool_results',
    ])
      expect(kinds).toContain(kind)
    const sum = view.parts.reduce((all: number, { tokens }: Answer) => all + tokens, 0)
    expect(view.tokens - sum).toBeLessThan(10)
  })

  it('is 409 where no agent works yet: the first response of a conversation says which', async () => {
    const { id } = await callJson('/v1/conversations', { json: {} })
    const session = id.replace('conv_', 'ses_')
    expect((await call(`/api/sessions/${session}/context`)).status).toBe(409)
    expect((await call(`/api/sessions/${session}/compact`, { json: {} })).status).toBe(409)
  })

  it('is 404 for a session that is not there, as for any id', async () => {
    for (const id of [`ses_${'0'.repeat(22)}`, 'nonsense'])
      expect((await call(`/api/sessions/${id}/context`)).status).toBe(404)
  })
})
