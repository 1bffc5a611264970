import { afterEach, describe, expect, it } from 'vitest'
import { callJson } from '../fakes/client.ts'
import { installUpstream, type UpstreamRequest, type UpstreamScript } from '../fakes/upstream.ts'

let upstream: ReturnType<typeof installUpstream> | undefined
const withModel = (script: UpstreamScript) => (upstream = installUpstream(script))
afterEach(() => upstream?.restore())

const user = (content: string) => ({ role: 'user', content })
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const chat = (messages: readonly object[], more: object = {}) =>
  callJson('/v1/chat/completions', {
    json: { model: 'orchestrator', messages, tools: [weather], ...more },
  })
const lastOf = ({ messages }: UpstreamRequest) => messages.at(-1)!
const askWeather = { name: 'get_weather', input: { city: 'Oslo' } }

describe('a tool of a chat client', () => {
  it('M6: goes out as a tool call, and its output comes back to the run that waits, without a session header', async () => {
    const { requests } = withModel((_request, index) =>
      index === 0 ? { text: 'Let me look.', calls: [askWeather] } : { text: 'Rain.' },
    )
    const first = await chat([user('Oslo?')])
    const [choice] = first.choices
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          { type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
    })
    const { id } = choice.message.tool_calls[0]
    expect(id.length).toBeLessThanOrEqual(64)
    const second = await chat([
      user('Oslo?'),
      choice.message,
      { role: 'tool', tool_call_id: id, content: 'rain' },
    ])
    expect(second.choices[0].message.content).toBe('Rain.')
    expect(second.usage.total_tokens).toBe(110)
    expect(lastOf(requests[1]!)).toMatchObject({ role: 'tool' })
    expect(requests[1]!.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  it('docs/design.md section 12: ours run, their results are kept, only the client’s go out', async () => {
    const { requests } = withModel((_request, index) =>
      index === 0
        ? { calls: [{ name: 'kv__set', input: { key: 'a', value: 1 } }, askWeather] }
        : { text: 'Both.' },
    )
    const first = await chat([user('both')])
    const { tool_calls: calls } = first.choices[0].message
    expect(calls.map((call: { function: { name: string } }) => call.function.name)).toEqual([
      'get_weather',
    ])
    const answers = calls.map(({ id }: { id: string }) => {
      return { role: 'tool', tool_call_id: id, content: 'rain' }
    })
    const second = await chat([user('both'), first.choices[0].message, ...answers])
    expect(second.choices[0].message.content).toBe('Both.')
    const results = requests[1]!.messages.filter(({ role }) => role === 'tool')
    expect(results).toHaveLength(2)
  })

  it.each([
    ['a chat', undefined],
    ['a chat with a named session', 'side by side'],
  ])('M6: calls that are made side by side in %s are answered at once', async (_where, name) => {
    const headers: Record<string, string> = name === undefined ? {} : { 'x-isola-session': name }
    const { requests } = withModel((_request, index) =>
      index === 0
        ? { calls: ['Oslo', 'Rome'].map((city) => ({ ...askWeather, input: { city } })) }
        : { text: 'Both.' },
    )
    const send = (messages: readonly object[]) =>
      callJson('/v1/chat/completions', {
        json: { model: 'orchestrator', messages, tools: [weather] },
        headers,
      })
    const { message } = (await send([user('both')])).choices[0]
    expect(message.tool_calls).toHaveLength(2)
    const outputs = message.tool_calls.map(({ id }: { id: string }, index: number) => {
      return { role: 'tool', tool_call_id: id, content: ['rain', 'sun'][index] }
    })
    const all = [user('both'), message, ...outputs]
    const second = await send(all)
    expect(second.choices[0].message.content).toBe('Both.')
    const tools = requests[1]!.messages.filter(({ role }) => role === 'tool')
    expect(tools.map(({ content }) => content)).toEqual(['rain', 'sun'])
    // The same outputs again are the same answer, without a model call.
    expect((await send(all)).choices[0].message.content).toBe('Both.')
    expect(requests).toHaveLength(2)
  })

  it('is answered a second time in a session of its own, with all that the client sent', async () => {
    const { requests } = withModel((request, index) =>
      index === 0 ? { calls: [askWeather] } : { text: String(lastOf(request).content) },
    )
    const { message } = (await chat([user('Oslo?')])).choices[0]
    const answered = (content: string) =>
      chat([
        user('Oslo?'),
        message,
        { role: 'tool', tool_call_id: message.tool_calls[0].id, content },
      ])
    const one = await answered('rain')
    expect((await answered('rain')).choices[0].message.content).toBe(one.choices[0].message.content)
    expect(requests).toHaveLength(2) // the same again joins
    const other = await answered('sun')
    expect(other.choices[0].message.content).toContain('sun')
    expect(requests).toHaveLength(3)
    expect(JSON.stringify(requests[2]!.messages)).not.toContain('rain')
  })
})
