import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { supportBundle } from '../fakes/support-bundle.ts'
import { startModelServer } from '../fakes/model-server.mjs'
import { freePort, reach, startServer, type RunningServer } from './server.ts'

const temp = mkdtempSync(join(tmpdir(), 'isola-floor-'))
const patience = { timeout: 180_000, interval: 250 }
// oxlint-disable-next-line typescript/no-explicit-any
type Answer = any
let model: Awaited<ReturnType<typeof startModelServer>>
let server: RunningServer
let port = 0
let id = ''
let gate: Promise<void> | undefined
const desks = ['orders', 'bills'] as const

/** What the desk says is the user's text with its name before it; "all" is the last thing that it is told. */
function reply(modelName: string, said: string) {
  const desk = desks.find((one) => modelName.endsWith(one))
  if (desk && said === 'that is all')
    return {
      text: 'It is sent again.',
      toolCalls: [{ name: 'isola__return', arguments: { summary: 'Order 7 is sent again.' } }],
    }
  if (desk) return { text: `${desk}: ${said}` }
  const topic = desks.find((one) => said.includes(one.slice(0, -1)))
  if (!topic) return { text: `orchestrator: ${said}` }
  const input = { name: `${topic}__run`, input: { task: said } }
  return { toolCalls: [{ name: 'isola__call', arguments: input }] }
}

const start = async () => {
  const env = { ISOLA_MODEL: 'openai/scripted', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk' }
  server = await startServer({ state: join(temp, 'state'), port, env })
}
beforeAll(async () => {
  model = await startModelServer({
    script: async ({ body: { model: name, messages } }) => {
      const said = String(messages.findLast(({ role }) => role === 'user')?.content)
      if (said === 'it was red' || said === 'wait for it') await gate
      return reply(name, said)
    },
  })
  port = await freePort()
  await start()
})
afterAll(async () => {
  await server?.stop()
  await model?.close()
  rmSync(temp, { recursive: true, force: true })
})

async function ask(path: string, json?: object): Promise<Answer> {
  const response = await reach(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    ...(json && { method: 'POST', body: JSON.stringify(json) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

/** One message as a chat client sends it, read as it comes. */
async function say(content: string): Promise<string> {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: server.key, maxRetries: 0 })
  const { data: stream, response } = await client.chat.completions
    .create(
      { model: 'orchestrator', stream: true, messages: [{ role: 'user', content }] },
      { headers: { 'x-isola-session': 'support' } },
    )
    .withResponse()
  id = response.headers.get('x-isola-session') ?? ''
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  return text
}

const isola = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, ISOLA_URL: '', ISOLA_KEY: undefined, PORT: String(port) }
    execFile(process.execPath, ['scripts/isola.mjs', ...args], { env }, (error, stdout, stderr) =>
      error ? reject(new Error(`isola ${args.join(' ')}: ${stdout}${stderr}`)) : resolve(stdout),
    )
  })

it('Y9, Y24, Y27, X1, E8: ten messages with two handoffs, one returned and one timed out, and a power cut between', async () => {
  for (const [desk, handoff] of [
    ['orders', {}],
    ['bills', { timeout_ms: 3_000 }],
  ] as const) {
    await ask('/api/operator/plugins', { bundle: supportBundle(desk, handoff) })
    const { hash, asks } = await ask(`/api/operator/plugins/${desk}`)
    await ask(`/api/operator/plugins/${desk}/grant`, { hash, permit: asks, texts: true })
    await ask(`/api/operator/plugins/${desk}/enable`, {})
  }
  expect(await say('my order is lost')).toBe('orders: my order is lost')
  expect(await say('number 7')).toBe('orders: number 7')
  expect(await isola('session', 'show', id)).toContain('orders__run has the conversation until')

  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  const broken = say('it was red').catch(() => 'broken off')
  await vi.waitFor(() => {
    expect(JSON.stringify(model.requests.at(-1)?.body.messages.at(-1))).toContain('it was red')
  }, patience)
  await server.kill()
  expect(await broken).toBe('broken off')
  gate = undefined
  resolve()
  await start()
  // No client asks for it again: the message goes on by itself, with the agent that had the conversation.
  await vi.waitFor(async () => {
    const { runs } = await ask(`/api/sessions/${id}`)
    expect(runs[2].result?.result).toBe('orders: it was red')
  }, patience)

  expect(await say('with a bow')).toBe('orders: with a bow')
  expect(await say('that is all')).toBe('It is sent again.')
  expect(await say('thank you')).toBe('orchestrator: thank you')
  const asked = model.requests.findLast(({ body }) => body.model === 'scripted')
  expect(JSON.stringify(asked?.body.messages)).toContain('Order 7 is sent again.')
  await expect(isola('session', 'reclaim', id)).rejects.toThrow('own agent')
  expect(await say('now a bill')).toBe('bills: now a bill')
  expect(await say('number 9')).toBe('bills: number 9')
  await vi.waitFor(async () => {
    expect((await ask(`/api/sessions/${id}`)).floor.state).toBe('ended')
  }, patience)
  expect(await say('still there?')).toBe('orchestrator: still there?')
  expect(await say('bye')).toBe('orchestrator: bye')

  const { messages } = await ask(`/api/sessions/${id}/transcript`)
  const spoken = messages.flatMap(({ role, text, by }: Answer) =>
    role === 'assistant' && text !== '' ? [[by ?? 'orchestrator', text]] : [],
  )
  expect(spoken).toEqual([
    ['orders__run', 'orders: my order is lost'],
    ['orders__run', 'orders: number 7'],
    ['orders__run', 'orders: it was red'],
    ['orders__run', 'orders: with a bow'],
    ['orders__run', 'It is sent again.'],
    ['orchestrator', 'orchestrator: thank you'],
    ['bills__run', 'bills: now a bill'],
    ['bills__run', 'bills: number 9'],
    ['orchestrator', 'orchestrator: still there?'],
    ['orchestrator', 'orchestrator: bye'],
  ])

  // The record says who had it and what that took; each child says what it spent.
  const { records, tree } = await vi.waitFor(async () => {
    const found = (await ask(`/api/operator/audit?session=${id}&limit=500`)).records
    expect(found.filter(({ type }: Answer) => type === 'run_finished')).toHaveLength(11)
    return { records: found, tree: await ask(`/api/sessions/${id}`) }
  }, patience)
  const floors = records.filter(({ type }: Answer) => type.startsWith('floor_'))
  expect(floors.map(({ type, data }: Answer) => [type, data.holder, data.reason])).toEqual([
    ['floor_taken', 'orders__run', undefined],
    ['floor_ended', 'orders__run', 'returned'],
    ['floor_taken', 'bills__run', undefined],
    ['floor_ended', 'bills__run', 'timeout'],
  ])
  const [orders, bills] = tree.children
  expect(tree.children.map(({ agent, runs }: Answer) => [agent, runs.length])).toEqual([
    ['orders', 5],
    ['bills', 2],
  ])
  const taken = [orders, bills].map(({ runs }: Answer) => runs[0].result.usage.tokens)
  expect(floors[1].data).toMatchObject({ messages: 4, tokens: orders.usage.tokens - taken[0] })
  expect(floors[3].data).toMatchObject({ messages: 1, tokens: bills.usage.tokens - taken[1] })
  const own = records
    .filter(({ type }: Answer) => type === 'model_called')
    .reduce((sum: number, { data }: Answer) => sum + data.inputTokens + data.outputTokens, 0)
  expect(tree.usage.tokens).toBe(own + orders.usage.tokens + bills.usage.tokens)
})

/** The text of a chat's stream. */
const heard = async (response: Promise<Response>): Promise<string> =>
  [...(await (await response).text()).matchAll(/^data: (\{.*)$/gm)]
    .map(([, json = '']) => (JSON.parse(json) as Answer).choices[0]?.delta.content ?? '')
    .join('')

it('E8: a client that goes away ends its message and not the conversation, and an operator takes that back', async () => {
  gate = new Promise(() => {})
  const closing = new AbortController()
  const chat = (content: string, signal?: AbortSignal) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      ...(signal && { signal }),
      headers: {
        authorization: `Bearer ${server.key}`,
        'content-type': 'application/json',
        'x-isola-session': 'leaves',
      },
      body: JSON.stringify({
        model: 'orchestrator',
        stream: true,
        messages: [{ role: 'user', content }],
      }),
    })
  expect(await heard(chat('an order again'))).toBe('orders: an order again')
  const left = await chat('wait for it', closing.signal)
  const session = left.headers.get('x-isola-session') ?? ''
  await vi.waitFor(() => {
    expect(JSON.stringify(model.requests.at(-1)?.body.messages.at(-1))).toContain('wait for it')
  }, patience)
  closing.abort()
  await vi.waitFor(async () => {
    const { runs, children, floor } = await ask(`/api/sessions/${session}`)
    expect([runs[1].state, children[0].runs[1].state]).toEqual(['cancelled', 'cancelled'])
    expect(floor.state).toBe('held')
  }, patience)
  gate = undefined
  expect(await heard(chat('number 7'))).toBe('orders: number 7')
  expect(await isola('session', 'reclaim', session)).toContain('orders__run')
  expect(await isola('session', 'show', session)).toContain('had the conversation until')
  expect(await heard(chat('hello'))).toBe('orchestrator: hello')
  await expect(isola('session', 'reclaim', session)).rejects.toThrow('own agent')
})
