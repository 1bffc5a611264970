import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, call, callJson, readSse, type SseEvent } from '../fakes/client.ts'
import { eventProblems, responseProblems } from '../fakes/open-responses-schema.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const path = '/v1/responses'
const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false,
}
const askWeather = { name: 'get_weather', input: { city: 'Oslo' } }
const create = (input: unknown, more: object = {}): Promise<Answer> =>
  callJson(path, { json: { model: 'orchestrator', input, ...more } })
const streamed = async (input: unknown, more: object = {}): Promise<SseEvent[]> =>
  readSse(await call(path, { json: { model: 'orchestrator', input, stream: true, ...more } }))
const dataOf = (events: readonly SseEvent[]) =>
  events.map(({ data }) => data).filter((data) => data !== '[DONE]')
const output = (callId: string, text: string) => {
  return { type: 'function_call_output', call_id: callId, output: text }
}
const usersIn = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'user').map(({ content }) => content)

describe('a response', () => {
  it('M6: has every field of the specification, and is found again, and not after it was deleted', async () => {
    withModel(() => ({ text: 'Hello' }))
    const response = await create('Hi', { metadata: { a: 'b' }, instructions: 'Be brief.' })
    expect(responseProblems('ResponseResource', response)).toEqual([])
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      metadata: { a: 'b' },
      instructions: 'Be brief.',
      output: [{ type: 'message', role: 'assistant', content: [{ text: 'Hello' }] }],
      usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
    })
    expect(await callJson(`${path}/${response.id}`)).toEqual(response)
    expect(await callJson(`${path}/${response.id}`, { method: 'DELETE' })).toEqual({
      id: response.id,
      object: 'response',
      deleted: true,
    })
    expect((await call(`${path}/${response.id}`)).status).toBe(404)
  })

  it('is not found if it was not to be stored', async () => {
    withModel(() => ({ text: 'Hello' }))
    const response = await create('Hi', { store: false })
    expect((await call(`${path}/${response.id}`)).status).toBe(404)
  })

  it('says in the stream what the specification says, each family in its order', async () => {
    withModel(() => ({ text: 'Hello there' }))
    const events = await streamed('Hi')
    const all = dataOf(events)
    for (const event of all) expect([event.type, eventProblems(event)]).toEqual([event.type, []])
    expect(events.every(({ event, data }) => data === '[DONE]' || event === data.type)).toBe(true)
    const types = all.map(({ type }) => type).filter((type) => !type.endsWith('.delta'))
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    const numbers = all.map((event) => event.sequence_number)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    expect(new Set(numbers).size).toBe(numbers.length)
    const text = all.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''))
    expect(text.join('')).toBe('Hello there')
    const { response } = all.at(-1)!
    expect(await callJson(`${path}/${response.id}`)).toEqual(response)
  })

  it('can be read from any place on, without a gap or a repeat', async () => {
    withModel(() => ({ text: 'Hello there' }))
    const { id } = await create('Hi')
    const read = async (after: number) =>
      dataOf(await readSse(await call(`${path}/${id}?stream=true&starting_after=${after}`)))
    const whole = await read(0)
    const deltaOf = (events: Answer[]) =>
      events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')
    const { sequence_number: last } = whole.find(
      ({ type }) => type === 'response.output_text.delta',
    )!
    expect(deltaOf(await read(last - 6))).toBe(' there')
    expect(deltaOf(await read(last))).toBe('')
    expect((await read(last)).map(({ type }) => type)).toEqual([
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
  })
})

describe('a response that calls the client’s tools', () => {
  it('ends with the call, and the next one goes on where it waits', async () => {
    const { requests } = withModel((_request, index) =>
      index === 0 ? { text: 'Let me look.', calls: [askWeather] } : { text: 'Rain.' },
    )
    const events = dataOf(await streamed('Oslo?', { tools: [weather] }))
    for (const event of events) expect([event.type, eventProblems(event)]).toEqual([event.type, []])
    const { response } = events.at(-1)!
    expect(response.status).toBe('completed')
    expect(response.output.map(({ type }: Answer) => type)).toEqual(['message', 'function_call'])
    const called = response.output[1]
    expect(called).toMatchObject({ name: 'get_weather', arguments: '{"city":"Oslo"}' })
    const goOn = { tools: [weather], previous_response_id: response.id }
    const second = dataOf(await streamed([output(called.call_id, 'rain')], goOn)).at(-1).response
    expect(second.output).toMatchObject([{ content: [{ text: 'Rain.' }] }])
    expect(second.previous_response_id).toBe(response.id)
    expect(second.usage.total_tokens).toBe(110)
    expect(requests).toHaveLength(2)
    expect(usersIn(requests[1]!)).toHaveLength(1)
    // Each is found as it was, though both are of one run.
    expect(await callJson(`${path}/${response.id}`)).toEqual(response)
    expect(await callJson(`${path}/${second.id}`)).toEqual(second)
  })

  it.each(['conversation', 'previous_response_id', 'stateless'])(
    'M6: that are made side by side goes on once all are answered: %s',
    async (how) => {
      const { requests } = withModel((_request, index) =>
        index === 0
          ? { calls: ['Oslo', 'Rome'].map((city) => ({ name: 'get_weather', input: { city } })) }
          : { text: 'Both.' },
      )
      const { id } = await callJson('/v1/conversations', { json: {} })
      const base = {
        tools: [weather],
        ...(how === 'conversation' && { conversation: id }),
        ...(how === 'stateless' && { store: false }),
      }
      const first = await create('both', base)
      const outputs = first.output.map(({ call_id: call }: Answer, index: number) =>
        output(call, ['rain', 'sun'][index]!),
      )
      expect(outputs).toHaveLength(2)
      const goOn = how === 'previous_response_id' ? { previous_response_id: first.id } : {}
      const input =
        how === 'stateless'
          ? [{ role: 'user', content: 'both' }, ...first.output, ...outputs]
          : outputs
      if (how !== 'stateless') {
        const half = { model: 'orchestrator', input: outputs.slice(1), ...base, ...goOn }
        expect((await call(path, { json: half })).status).toBe(400)
      }
      const second = await create(input, { ...base, ...goOn })
      expect(second.output).toMatchObject([{ content: [{ text: 'Both.' }] }])
      const tools = requests[1]!.messages.filter(({ role }) => role === 'tool')
      expect(tools.map(({ content }) => content)).toEqual(['rain', 'sun'])
      expect(requests).toHaveLength(2)
    },
  )

  it('goes on for a client that keeps nothing on the server and sends all of it again', async () => {
    const { requests } = withModel((_request, index) =>
      index === 0 ? { calls: [askWeather] } : { text: 'Rain.' },
    )
    const { output: items } = await create('Oslo?', { tools: [weather], store: false })
    const again = [
      { role: 'user', content: [{ type: 'input_text', text: 'Oslo?' }] },
      ...items,
      output(items[0].call_id, 'rain'),
    ]
    const second = await create(again, { tools: [weather], store: false })
    expect(second.output).toMatchObject([{ content: [{ text: 'Rain.' }] }])
    expect(requests).toHaveLength(2)
  })

  it('docs/design.md section 12: a transcript is a tree: two answers to one response are two branches', async () => {
    const { requests } = withModel((request, index) =>
      index === 0 ? { calls: [askWeather] } : { text: `after ${request.messages.length}` },
    )
    const first = await create('Oslo?', { tools: [weather] })
    const { call_id: callId } = first.output[0]
    const answer = (text: string) =>
      create([output(callId, text)], { tools: [weather], previous_response_id: first.id })
    const rain = await answer('rain')
    const sun = await answer('sun')
    expect(sun.id).not.toBe(rain.id)
    expect(JSON.stringify(requests[2]!.messages)).toContain('sun')
    expect(JSON.stringify(requests[2]!.messages)).not.toContain('rain')
    const next = await create('And then?', { previous_response_id: rain.id })
    expect(next.status).toBe('completed')
    const said = JSON.stringify(requests[3]!.messages)
    expect(said).toContain('rain')
    expect(said).not.toContain('sun')
  })

  it('refuses to go on without an output of each call, naming the call', async () => {
    withModel(() => ({ calls: [askWeather] }))
    const first = await create('Oslo?', { tools: [weather] })
    const refused = await call(path, {
      json: { model: 'orchestrator', input: 'Never mind', previous_response_id: first.id },
    })
    expect(refused.status).toBe(400)
    const { error } = (await refused.json()) as Answer
    expect(error.param).toBe('input')
    expect(error.message).toContain(first.output[0].call_id)
  })

  it('makes one call at a time if the client wants that, whatever its model does', async () => {
    const two = [askWeather, { ...askWeather, input: { city: 'Rome' } }]
    const { requests } = withModel(() => ({ calls: two }))
    const one = await create('Both?', { tools: [weather], parallel_tool_calls: false })
    expect(one.parallel_tool_calls).toBe(false)
    expect(one.output).toMatchObject([{ type: 'function_call', arguments: '{"city":"Oslo"}' }])
    expect(requests[0]).toMatchObject({ parallel_tool_calls: false })
    expect((await create('Both?', { tools: [weather] })).output).toHaveLength(2)
  })

  it('cannot be named if it was not to be stored, whatever it went on from', async () => {
    withModel(() => ({ calls: [askWeather] }))
    const kept = await create('Oslo?', { tools: [weather] })
    const answer = [output(kept.output[0].call_id, 'rain')]
    const goOn = { tools: [weather], previous_response_id: kept.id, store: false }
    const child = await create(answer, goOn)
    expect((await call(`${path}/${child.id}`)).status).toBe(404)
    for (const input of ['And then?', [output(child.output[0].call_id, 'sun')]]) {
      const json = {
        model: 'orchestrator',
        input,
        tools: [weather],
        previous_response_id: child.id,
      }
      const refused = await call(path, { json })
      expect([refused.status, ((await refused.json()) as Answer).error.param]).toEqual([
        404,
        'previous_response_id',
      ])
    }
  })

  it('keeps a namespace, and leaves out tools that do not run here', async () => {
    const { requests } = withModel(() => ({ calls: [{ ...askWeather, name: 'disk__read_file' }] }))
    const { name, ...read } = { ...weather, name: 'read_file' }
    const tools = [
      { type: 'namespace', name: 'disk', description: 'Files', tools: [{ ...read, name }] },
      { type: 'web_search' },
      { type: 'custom', name: 'patch', format: { type: 'text' } },
    ]
    const response = await create('Read', { tools })
    expect(responseProblems('ResponseResource', response)).toEqual([])
    expect(response.output).toMatchObject([
      { type: 'function_call', name: 'read_file', namespace: 'disk' },
    ])
    const offered = requests[0]!.tools!.map(({ function: tool }) => tool.name)
    expect(offered).toContain('disk__read_file')
    expect(offered).not.toContain('patch')
  })
})

describe('a response that is deleted while it waits', () => {
  it('is cancelled, and gives back what it held', async () => {
    withModel(() => ({ calls: [askWeather] }))
    const first = await create('Oslo?', { tools: [weather] })
    await callJson(`${path}/${first.id}`, { method: 'DELETE' })
    const again = { model: 'orchestrator', previous_response_id: first.id, tools: [weather] }
    const input = [output(first.output[0].call_id, 'rain')]
    expect((await call(path, { json: { ...again, input } })).status).toBe(404)
    const session = `ses_${first.id.slice(5, 27)}`
    await expect
      .poll(async () => (await callJson(`/api/sessions/${session}`)).runs)
      .toMatchObject([{ state: 'cancelled' }])
  })
})

describe('a chain of responses', () => {
  it('goes on from any of them, each with what was said up to there', async () => {
    const { requests } = withModel((_request, index) => ({ text: `answer ${index}` }))
    const first = await create('one')
    const second = await create('two', { previous_response_id: first.id })
    await create('three', { previous_response_id: second.id })
    await create('other two', { previous_response_id: first.id })
    expect(requests.map(usersIn)).toEqual([
      ['one'],
      ['one', 'two'],
      ['one', 'two', 'three'],
      ['one', 'other two'],
    ])
  })

  it('runs in the background, and is read when it is done', async () => {
    const gate = Promise.withResolvers<void>()
    withModel(() => ({ text: 'late', wait: gate.promise }))
    const queued = await create('Hi', { background: true })
    expect(queued.status).toBe('queued')
    expect((await callJson(`${path}/${queued.id}`)).status).toBe('in_progress')
    gate.resolve()
    await expect
      .poll(async () => (await callJson(`${path}/${queued.id}`)).output[0]?.content[0].text)
      .toBe('late')
  })

  it('is cancelled, and says so', async () => {
    withModel(() => ({ text: 'never', wait: new Promise(() => {}) }))
    const { id } = await create('Hi', { background: true })
    const cancelled = await callJson(`${path}/${id}/cancel`, { method: 'POST' })
    expect(cancelled.status).toBe('cancelled')
    expect(responseProblems('ResponseResource', cancelled)).toEqual([])
  })
})

describe('a conversation', () => {
  const conversations = '/v1/conversations'

  it('M6: holds what was said before, and everything that responses add to it', async () => {
    const { requests } = withModel((_request, index) => ({ text: `answer ${index}` }))
    const made = await callJson(conversations, {
      json: { metadata: { topic: 'demo' }, items: [{ role: 'user', content: 'Earlier.' }] },
    })
    expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'demo' } })
    const first = await create('one', { conversation: made.id })
    expect(first.conversation).toEqual({ id: made.id })
    await create('two', { conversation: { id: made.id } })
    expect(requests.map(usersIn)).toEqual([
      ['Earlier.', 'one'],
      ['Earlier.', 'one', 'two'],
    ])
    const items = await callJson(`${conversations}/${made.id}/items?order=asc&limit=2`)
    expect(items.data.map((item: Answer) => item.content[0].text)).toEqual(['Earlier.', 'one'])
    const rest = await callJson(
      `${conversations}/${made.id}/items?order=asc&after=${items.last_id}`,
    )
    expect(rest.data.map((item: Answer) => item.content[0].text)).toEqual([
      'answer 0',
      'two',
      'answer 1',
    ])
    for (const item of [...items.data, ...rest.data])
      expect(responseProblems('ItemField', item)).toEqual([])
  })

  it('M6: lists calls and outputs under the ids that the responses had, and never our own tools', async () => {
    withModel((_request, index) => {
      const own = { name: 'kv__set', input: { key: 'a', value: 1 } }
      return index === 0 ? { text: 'Let me look.', calls: [own, askWeather] } : { text: 'Rain.' }
    })
    const items = [{ role: 'user', content: 'Earlier.' }]
    const { id } = await callJson(conversations, { json: { items } })
    const inIt = { conversation: id, tools: [weather] }
    const first = await create('Oslo?', inIt)
    const [spoken, called] = first.output
    const answer = [output(called.call_id, 'rain'), { role: 'user', content: 'Be quick.' }]
    const second = await create(answer, inIt)
    const one = `${conversations}/${id}/items`
    const all = (await callJson(`${one}?order=asc`)).data
    expect(all).toMatchObject([
      { type: 'message', role: 'user', content: [{ text: 'Earlier.' }] },
      { type: 'message', role: 'user', content: [{ text: 'Oslo?' }] },
      spoken,
      called,
      { type: 'function_call_output', call_id: called.call_id, output: 'rain' },
      { type: 'message', role: 'user', content: [{ text: 'Be quick.' }] },
      second.output[0],
    ])
    const ids = all.map((item: Answer) => item.id)
    expect(new Set(ids).size).toBe(all.length)
    for (const item of all) {
      expect(responseProblems('ItemField', item)).toEqual([])
      expect(await callJson(`${one}/${item.id}`)).toEqual(item)
    }
    await create('And now?', inIt)
    const later = (await callJson(`${one}?order=asc`)).data
    expect(later.slice(0, all.length)).toEqual(all)
    expect((await call(`${one}/msg_nope`)).status).toBe(404)

    const inputOf = async (response: Answer) =>
      (await callJson(`${path}/${response.id}/input_items?order=asc`)).data
    expect(await inputOf(first)).toEqual([all[1]])
    expect(await inputOf(second)).toEqual([all[4], all[5]])
    const unstored = await create('Hi', { store: false })
    expect((await call(`${path}/${unstored.id}/input_items`)).status).toBe(404)
  })

  it('does not go on while a call has no output, naming the call', async () => {
    const { requests } = withModel((_request, index) =>
      index === 0 ? { calls: [askWeather] } : { text: 'Rain.' },
    )
    const { id } = await callJson(conversations, { json: {} })
    const inIt = { conversation: id, tools: [weather] }
    const first = await create('Oslo?', inIt)
    const json = { model: 'orchestrator', input: 'Never mind', ...inIt }
    const refused = await call(path, { json })
    expect(refused.status).toBe(400)
    const { error } = (await refused.json()) as Answer
    expect(error).toMatchObject({ param: 'input' })
    expect(error.message).toContain(first.output[0].call_id)
    expect(requests).toHaveLength(1)
    const second = await create([output(first.output[0].call_id, 'rain')], inIt)
    expect(second.output).toMatchObject([{ content: [{ text: 'Rain.' }] }])
  })

  it('takes items between two responses, where its model and its list have them', async () => {
    const { requests } = withModel(() => ({ text: 'Hi' }))
    const { id } = await callJson(conversations, { json: {} })
    const one = `${conversations}/${id}/items`
    const add = (...texts: string[]) =>
      call(one, { json: { items: texts.map((content) => ({ role: 'user', content })) } })
    const textsIn = (list: readonly Answer[]) =>
      list.map(({ content }: Answer) => content[0].text as string)
    await create('one', { conversation: id })
    const added = (await (await add('aside', 'more')).json()) as Answer
    expect(textsIn(added.data)).toEqual(['aside', 'more'])
    const item = added.data[0]
    expect(await callJson(`${one}/${item.id}`)).toEqual(item)
    await add('third')
    await create('two', { conversation: id })
    await add('last')
    const said = ['one', 'aside', 'more', 'third', 'two']
    expect(usersIn(requests[1]!)).toEqual(said)
    await create('three', { conversation: id })
    expect(usersIn(requests[2]!)).toEqual([...said, 'last', 'three'])
    const all = (await callJson(`${one}?order=asc&limit=100`)).data
    expect(textsIn(all)).toEqual('one Hi aside more third two Hi last three Hi'.split(' '))
    expect(all[2]).toEqual(item)
    expect((await add('x'.repeat(2_100_000))).status).toBe(413)
  })

  it('takes none while a response in it is not over', async () => {
    const gate = Promise.withResolvers<void>()
    withModel(() => ({ text: 'Hi', wait: gate.promise }))
    const { id } = await callJson(conversations, { json: {} })
    await create('one', { conversation: id, background: true })
    const json = { items: [{ role: 'user', content: 'aside' }] }
    expect((await call(`${conversations}/${id}/items`, { json })).status).toBe(409)
    gate.resolve()
  })

  it('is changed, and deleted', async () => {
    withModel(() => ({ text: 'Hi' }))
    const { id } = await callJson(conversations, { json: {} })
    const one = `${conversations}/${id}`
    const items = [{ role: 'user', content: 'Before.' }]
    expect((await callJson(`${one}/items`, { json: { items } })).data).toHaveLength(1)
    const more = { items: [{ role: 'user', content: 'More.' }] }
    const added = await callJson(`${one}/items`, { json: more })
    expect(added.data.map((item: Answer) => item.content[0].text)).toEqual(['More.'])
    expect((await callJson(one, { json: { metadata: { a: 'b' } } })).metadata).toEqual({ a: 'b' })
    expect((await callJson(one)).metadata).toEqual({ a: 'b' })
    await create('one', { conversation: id })
    expect((await call(`${one}/items?after=item_nope`)).status).toBe(400)
    expect(await callJson(one, { method: 'DELETE' })).toMatchObject({ deleted: true })
    expect((await call(one)).status).toBe(404)
    const gone = await call(path, { json: { model: 'orchestrator', input: 'x', conversation: id } })
    expect(gone.status).toBe(404)
  })
})

it('A7: gives a conversation that is longer than an answer may be in pages that end early', async () => {
  withModel(() => ({ text: 'Hello' }))
  const { id } = await callJson('/v1/conversations', { json: {} })
  for (let count = 0; count < 5; count += 1) {
    await create('x '.repeat(920_000), { conversation: id })
  }
  const items = `/v1/conversations/${id}/items`
  expect((await callJson(`${items}?limit=1`)).data).toHaveLength(1)
  const page = await callJson(`${items}?limit=100&order=asc`)
  expect([page.data.length > 1, page.has_more]).toEqual([true, true])
  const next = await callJson(`${items}?limit=100&order=asc&after=${page.last_id}`)
  expect(next.data[0].id).not.toBe(page.data[0].id)
})
