import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import analyst from 'built:test/fixtures/third-party/analyst'
import tickets from 'built:test/fixtures/third-party/tickets'
import yamlReader from 'built:test/fixtures/third-party/yaml-reader'
import { sinksOf } from '../fakes/canary.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { addPlugin, callsTool, enablePlugin } from '../fakes/plugin-admin.ts'
import { installUpstream } from '../fakes/upstream.ts'

const secrets = {
  DESK_TOKEN: 'tkn-canary/0f6b+35"e',
  DESK_PASSWORD: 'pwd:canary&77é',
  LLM_KEY: 'sk-canary-4711-abcdef',
}
/** Any trace of one, as it is, as hex, and in base64 wherever it stands. */
const leak = /canary|63616e617279|Y2FuYXJ5|NhbmFye|jYW5hcn/i

const arrived: string[] = []
const authorizations = {
  'desk.example.com': [
    `Bearer ${secrets.DESK_TOKEN}`,
    `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`isola:${secrets.DESK_PASSWORD}`)))}`,
  ],
  'llm.example.com': [`Bearer ${secrets.LLM_KEY}`],
}

/** The services as they are out there: they want the real value, and say it again wherever they can. */
function outThere(request: Request): Response {
  const { hostname, pathname } = new URL(request.url)
  const given = request.headers.get('authorization') ?? ''
  const own: readonly string[] = authorizations[hostname as keyof typeof authorizations] ?? []
  if (!own.includes(given)) return new Response(`who is ${given}?`, { status: 401 })
  arrived.push(`${request.method} ${hostname}${pathname}`)
  const plain = given.startsWith('Basic ') ? atob(given.slice(6)) : given
  const headers = { 'x-request': given, 'set-cookie': `last=${btoa(plain)}` }
  if (hostname === 'llm.example.com') return completion(request, given, headers)
  if (pathname === '/v2/me') return new Response(`you are ${given}, or ${plain}`, { headers })
  if (request.method === 'POST')
    return new Response(`no more tickets for ${given}`, { status: 507, headers })
  const items = [{ id: 7, title: 'printer on fire', note: `seen by ${given}` }]
  return Response.json({ items, asked: given }, { headers })
}

/** In one piece, or in pieces where the client asked for a stream. */
function completion(request: Request, given: string, headers: Record<string, string>): Response {
  const choice = (message: object) => ({ id: 'c', choices: [{ index: 0, ...message }] })
  if (request.headers.get('accept') === 'application/json' && !streams.shift())
    return Response.json(choice({ message: { content: `once, ${given}` } }), { headers })
  const pieces = ['one fire', ', says ', given].map((content) => choice({ delta: { content } }))
  const body = [...pieces.map((piece) => JSON.stringify(piece)), '[DONE]']
  return new Response(body.map((line) => `data: ${line}\n\n`).join(''), {
    headers: { ...headers, 'content-type': 'text/event-stream' },
  })
}
const streams = [false, true]

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

async function runWith(tool: string, input: object = {}) {
  const lines: string[] = []
  const spies = (['log', 'info', 'warn', 'error'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation((...words) => void lines.push(words.join(' '))),
  )
  upstream = installUpstream(callsTool(tool, input), outThere)
  const { id: session } = await callJson('/api/sessions', { json: {} })
  const view = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go', wait: true } })
  for (const spy of spies) spy.mockRestore()
  return { session, view, lines, said: String(view.result?.result) }
}

/** Nowhere a trace of any of them; what the model was sent counts too. */
async function expectNoTrace({
  session,
  view,
  lines,
}: Awaited<ReturnType<typeof runWith>>): Promise<Answer> {
  const asked = JSON.stringify(upstream?.requests)
  const sinks = {
    view: JSON.stringify(view),
    lines: lines.join(),
    asked,
    ...(await sinksOf(session)),
  }
  for (const [name, sink] of Object.entries(sinks)) expect(sink, name).not.toMatch(leak)
  return sinks
}

beforeAll(async () => {
  for (const [name, value] of Object.entries(secrets))
    await callJson('/api/operator/secrets', { json: { name, value } })
  for (const bundle of [tickets, yamlReader, analyst]) {
    const { plugin } = await addPlugin(bundle)
    expect(plugin).toMatchObject({ state: 'installed', tier: 'community' })
    expect((await enablePlugin(plugin.id)).plugin).toMatchObject({ state: 'enabled' })
  }
})

it('P23, P24: a REST client of a stranger works with a secret in a header and never has its value', async () => {
  const run = await runWith('tickets__search', { word: 'fire' })
  expect(run.said).toContain('printer on fire')
  expect(arrived).toContain('GET desk.example.com/v2/tickets')
  const { object } = await expectNoTrace(run)
  expect(object).toContain('[redacted]')
})

it('P24: with a password in Basic, which the service says again as it is and in base64', async () => {
  const run = await runWith('tickets__whoami')
  expect(run.said).toMatch(
    /"status":200.*you are Basic aXNvbGE6\[redacted\], or isola:\[redacted\]"/,
  )
  expect(arrived).toContain('GET desk.example.com/v2/me')
  await expectNoTrace(run)
})

it('P24: an answer of the service that says the value in an error does not bring it to the model', async () => {
  const run = await runWith('tickets__open', { title: 'x' })
  expect(run.said).toContain('The desk answered 507: no more tickets for Bearer [redacted]')
  await expectNoTrace(run)
})

it('Y3, P12: a parser with its package bundled in works, and says where a text is wrong', async () => {
  expect((await runWith('yaml-reader__parse', { text: 'a: [1, {b: c}]' })).said).toContain(
    '{"value":{"a":[1,{"b":"c"}]}}',
  )
  expect((await runWith('yaml-reader__parse', { text: 'a: [1' })).said).toContain('This is no YAML')
})

it('Y7, P13, P24: an agent with code of its own has a package, a key by reference and another plugin’s tool', async () => {
  // Its model is a stranger's, asked with a key: that its words go on to the desk is for the operator to allow.
  const rule = {
    label: { from: 'analyst*' },
    sink: 'egress',
    tools: 'tickets__*',
    verdict: 'allow',
  }
  const policy = '/api/operator/policy'
  await callJson(policy, { json: { policy: { labels: [rule] } } })
  const run = await runWith('analyst__run', { task: 'fire' })
  await callJson(policy, { json: { policy: {} } })
  expect(run.said).toContain('one fire, says Bearer [redacted]')
  expect(arrived.filter((one) => one === 'POST llm.example.com/v1/chat/completions')).toHaveLength(
    2,
  )
  const { events } = await expectNoTrace(run)
  expect(events).toContain('in one piece: once, Bearer [redacted]')
  expect(events).toContain('"tool":"tickets__search"')
})
