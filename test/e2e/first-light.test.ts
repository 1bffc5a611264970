import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  startEffectServer,
  startModelServer,
  type ChatRequestBody,
} from '../fakes/model-server.mjs'
import type { Answer } from '../fakes/client.ts'
import { freePort, reach, startServer, type RunningServer } from './server.ts'

const isChild = ({ messages }: ChatRequestBody) =>
  !JSON.stringify(messages[0]?.content).includes('Available tools')
const answersIn = ({ messages }: ChatRequestBody) => {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(lastUser).filter(({ role }) => role === 'tool')
}

describe('a running server, with the official openai package and a scripted loopback model', () => {
  let model: Awaited<ReturnType<typeof startModelServer>>
  let effects: Awaited<ReturnType<typeof startEffectServer>>
  let server: RunningServer
  let client: OpenAI
  const state = mkdtempSync(join(tmpdir(), 'isola-e2e-'))
  let port = 0
  const start = () =>
    startServer({
      state,
      port,
      env: {
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'sk-loopback',
        ISOLA_MODEL: 'openai/scripted',
      },
    })

  beforeAll(async () => {
    model = await startModelServer()
    effects = await startEffectServer()
    port = await freePort()
    server = await start()
    await api('/api/operator/http', { allow: [new URL(effects.url).host] })
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.key, maxRetries: 0 })
  })
  afterAll(async () => {
    await server?.stop()
    await model?.close()
    await effects?.close()
    rmSync(state, { recursive: true, force: true })
  })

  const api = async (
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await reach(`${server.url}${path}`, {
      method: json === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${server.key}`,
        'content-type': 'application/json',
        ...headers,
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return response.json()
  }

  const conversation = (body: ChatRequestBody) => {
    const done = answersIn(body).length
    if (isChild(body)) {
      return done === 0
        ? { toolCalls: [{ name: 'files__list', arguments: {} }] }
        : { text: 'Finding: eval is unsafe.' }
    }
    if (JSON.stringify(body.messages.at(-1)?.content).includes('which colour')) {
      return { toolCalls: [{ name: 'kv__get', arguments: { key: 'colour' } }] }
    }
    if (done === 0)
      return { toolCalls: [{ name: 'kv__set', arguments: { key: 'colour', value: 'blue' } }] }
    if (done === 1 && !JSON.stringify(answersIn(body)).includes('found')) {
      return {
        toolCalls: [
          { name: 'code-reviewer__run', arguments: { task: 'review this', context: 'eval(x)' } },
        ],
      }
    }
    return { text: `Done: ${JSON.stringify(answersIn(body).at(-1)?.content)}` }
  }

  it('P11: speaks as the persona that a request names, or else the key, and refuses one that is not there', async () => {
    model.script(() => ({ text: 'said' }))
    const made = { principal: 'reader', role: 'user', persona: 'plain-language' }
    const { key } = await api('/api/operator/keys', made)
    const reader = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 })
    const say = async (by: OpenAI, persona?: string) => {
      const headers = persona === undefined ? {} : { 'x-isola-persona': persona }
      const messages = [{ role: 'user', content: 'hi' }] as const
      const asked = { model: 'orchestrator', messages: [...messages] }
      await by.chat.completions.create(asked, { headers })
      const system = String(model.requests.at(-1)?.body.messages[0]?.content)
      return /<voice>\n# (.*)/.exec(system)?.[1]
    }
    expect(await say(client)).toBeUndefined()
    expect(await say(client, 'teacher')).toBe('Teacher')
    expect(await say(reader)).toBe('Plain language')
    expect(await say(reader, 'concise')).toBe('Concise')
    await expect(say(client, 'pirate')).rejects.toMatchObject({
      status: 400,
      param: 'x-isola-persona',
      message: expect.stringContaining('analyst, concise, plain-language, teacher') as string,
    })
  })

  it.each([false, true])(
    'M6, M4, Y8: holds a multi-turn conversation with tools and a sub-agent (stream: %s)',
    async (stream) => {
      model.script(({ body }) => conversation(body))
      const from = model.requests.length
      const headers = { 'x-isola-session': `talk-${String(stream)}` }
      const say = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
        if (!stream) {
          const reply = await client.chat.completions.create(
            { model: 'orchestrator', messages },
            { headers },
          )
          return { text: reply.choices[0]?.message.content ?? '', usage: reply.usage }
        }
        const chunks = await client.chat.completions.create(
          {
            model: 'orchestrator',
            messages,
            stream: true,
            stream_options: { include_usage: true },
          },
          { headers },
        )
        let text = ''
        let usage: OpenAI.CompletionUsage | null | undefined
        let finish: string | null | undefined
        for await (const chunk of chunks) {
          text += chunk.choices[0]?.delta.content ?? ''
          finish = chunk.choices[0]?.finish_reason ?? finish
          usage = chunk.usage ?? usage
        }
        expect(finish).toBe('stop')
        return { text, usage }
      }
      const first = await say([
        { role: 'user', content: 'SECRET remember blue, then review eval(x)' },
      ])
      expect(first.text).toContain('eval is unsafe')
      expect(first.usage?.total_tokens).toBeGreaterThan(0)
      const second = await say([
        { role: 'user', content: 'SECRET remember blue, then review eval(x)' },
        { role: 'assistant', content: first.text },
        { role: 'user', content: 'which colour was it?' },
      ])
      expect(second.text).toContain('blue')

      const asked = model.requests.slice(from).map(({ body }) => body as ChatRequestBody)
      const child = asked.filter(isChild)
      expect(child).toHaveLength(2)
      expect(JSON.stringify(child)).not.toContain('SECRET')
      expect(child[0]?.tools?.map((tool) => tool.function.name)).toEqual([
        'files__read',
        'files__list',
      ])
      expect(model.scriptErrors).toEqual([])
    },
  )

  it('goes on from the journal after SIGKILL in the middle of a tool call; a reader gets the answer by its cursor', async () => {
    const slow = `${effects.url}/slow?ms=4000`
    model.script(({ body }) =>
      answersIn(body).length === 0
        ? {
            toolCalls: [
              { name: 'kv__set', arguments: { key: 'a', value: 1 } },
              { name: 'http__get', arguments: { url: slow } },
            ],
          }
        : { text: 'The slow page has answered.' },
    )
    const { id: session } = await api('/api/sessions', {})
    const askedBefore = model.requests.length
    const { run } = await api(`/api/sessions/${session}/runs`, { task: 'fetch the slow page' })
    const events = await fetch(`${server.url}/api/sessions/${session}/events?run=${run}`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    let cursor = ''
    const reader = events.body!.getReader()
    const decoder = new TextDecoder()
    let seen = ''
    while (!seen.includes('"tool":"kv__set","ok":true')) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the stream ended early: ${seen}`)
      seen += decoder.decode(value, { stream: true })
      cursor =
        seen
          .match(/^id: (.*)$/gm)
          ?.at(-1)
          ?.slice(4) ?? cursor
    }
    await server.kill()
    await reader.cancel().catch(() => {})
    server = await start()

    let view: Answer
    for (let attempt = 0; attempt < 480; attempt += 1) {
      // The audit log is read, not the session: nothing may wake it but its own alarm.
      const { records } = await api(`/api/operator/audit?session=${session}&limit=500`)
      if (records.some(({ type }: Answer) => type === 'run_finished')) break
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    view = await api(`/api/sessions/${session}/runs/${run}`)
    expect(view).toMatchObject({
      state: 'completed',
      result: { result: 'The slow page has answered.' },
    })
    // Whatever was in flight when it died, the first turn was not asked for again.
    // A start looks at the list of models too.
    const asked = model.requests
      .slice(askedBefore)
      .filter(({ path }) => path.endsWith('/chat/completions'))
    expect(asked.filter(({ body }) => answersIn(body).length === 0)).toHaveLength(1)

    const rest = await fetch(`${server.url}/api/sessions/${session}/events?run=${run}`, {
      headers: { authorization: `Bearer ${server.key}`, 'Last-Event-ID': cursor },
    })
    const text = await rest.text()
    const ids = [...seen.matchAll(/^id: .*:(\d+)$/gm), ...text.matchAll(/^id: .*:(\d+)$/gm)].map(
      ([, seq]) => Number(seq),
    )
    expect(ids).toEqual(ids.map((_, index) => index + 1))
    expect(text).toContain('run_resumed')
    expect(text).toContain('The slow page has answered.')
    const finished = (seen + text).matchAll(/^event: tool_finished\n.*\ndata: .*"tool":"kv__set"/gm)
    expect([...finished]).toHaveLength(1)
  })

  it('cancels the run of a closed stream, since that is how chat clients say Stop', async () => {
    model.script(() => ({
      toolCalls: [{ name: 'http__get', arguments: { url: `${effects.url}/slow?ms=60000` } }],
    }))
    const closing = new AbortController()
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      signal: closing.signal,
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'orchestrator',
        stream: true,
        messages: [{ role: 'user', content: 'go' }],
      }),
    })
    await response.body?.getReader().read()
    closing.abort()
    const path = `/api/sessions/${response.headers.get('x-isola-session')}/runs/${response.headers.get('x-isola-run')}`
    let view: Answer = {}
    for (let attempt = 0; attempt < 480 && view.state !== 'cancelled'; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      view = await api(path)
    }
    expect(view).toMatchObject({ state: 'cancelled' })
  })

  it('refuses a wrong key, and a tool of the client that has the name of one of ours', async () => {
    const stranger = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'wrong', maxRetries: 0 })
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 })
    const tools = [{ type: 'function' as const, function: { name: 'kv__set', parameters: {} } }]
    await expect(
      client.chat.completions.create({
        model: 'orchestrator',
        messages: [{ role: 'user', content: 'hi' }],
        tools,
      }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid', param: 'tools' })
  })

  it('lists agents and models', async () => {
    const { data } = await client.models.list()
    expect(data.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['orchestrator', 'code-reviewer', 'openai/scripted']),
    )
  })
})
