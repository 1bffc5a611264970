import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { callJson, readSse, call, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamReply, type UpstreamRequest } from '../fakes/upstream.ts'

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate }, { bundleAgent }, kv] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('../fixtures/agents.ts'),
    import('isolated:plugins/kv'),
  ])
  const limits = { max_depth: 4, max_turns: 10, max_tool_calls: 40, max_children: 8 }
  const foreign = (id: string, more: object, body: string) => ({
    manifest: {
      id,
      name: id,
      version: '1.0.0',
      description: `Is ${id}.`,
      entrypoint: 'main.js',
      contributes: { tools: [{ name: 'go', description: 'Goes.', input_schema: {} }] },
      ...more,
    },
    code: `export default () => (${body})`,
    hash: id.padEnd(64, '2'),
  })
  /** Has kv keep what a sub-agent found, and asks a model about it. */
  const broker = foreign(
    'broker',
    {
      uses_tools: ['kv', 'worker'],
      grants: { model: { max_tokens: 9_000 } },
    },
    `{ tools: { async go(input, { tools, model }) {
      const found = await tools.call('worker__run', { task: 'child task' })
      await tools.call('kv__set', { key: 'found', value: found })
      const { text } = await model.generate({ prompt: 'sum up: ' + found })
      return { found, kept: await tools.call('kv__get', { key: 'found' }), text }
    } } }`,
  )
  /** The same as an agent with code of its own. */
  const coder = foreign(
    'coder',
    {
      contributes: {},
      agent: {
        integration_mode: 'tool',
        model: 'openai/scripted',
        instructions: 'none.md',
        uses_tools: ['worker'],
      },
    },
    `{ agent: { async invoke({ task }, { tools, model }) {
      const found = await tools.call('worker__run', { task })
      return (await model.generate({ prompt: 'sum up: ' + found })).text
    } } }`,
  )
  const bundledPlugins: readonly BundledPlugin[] = [
    ...[kv.default, broker, coder].map((folder) => isolate(folder, 'community')),
    bundleAgent({ id: 'worker', uses: [], limits }),
    bundleAgent({ id: 'lead', uses: ['broker', 'coder'], limits }),
  ]
  return { bundledPlugins }
})

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

/** The lead calls `tool`, the sub-agent says what `child` says, and a plugin's own question is summed up. */
function script(tool: { name: string; input: unknown }, child: () => UpstreamReply): void {
  upstream = installUpstream(({ messages }: UpstreamRequest) => {
    const last = String(messages.at(-1)?.content)
    if (messages.some(({ role }) => role === 'tool')) return { text: `done ${last}` }
    if (last.startsWith('sum up')) return { text: 'in short' }
    return last.includes('child task') ? child() : { calls: [tool] }
  })
}

async function start(): Promise<{ readonly session: string; readonly run: string }> {
  const { id: session } = await callJson('/api/sessions', { json: { agent: 'lead' } })
  const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
  return { session, run }
}

const finish = ({ session, run }: Awaited<ReturnType<typeof start>>): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const path = `/api/sessions/${session}/runs/${run}`
      const view = await callJson(path)
      // It asks at a limit, which stays as it is.
      for (const { call, kind } of view.pauses ?? [])
        if (kind === 'budget')
          await callJson(`${path}/decisions`, { json: { call, decision: 'deny' } })
      expect(['completed', 'stopped', 'failed', 'cancelled']).toContain(view.state)
      return view.result
    },
    { timeout: 60_000, interval: 50 },
  )

const childOf = async (session: string): Promise<Answer> =>
  callJson(`/api/sessions/${(await callJson(`/api/sessions/${session}`)).children[0].id}`)

it('Y5, E1: code on an island calls a sub-agent, a tool and a model, and the parent books what each spent', async () => {
  script({ name: 'broker__go', input: {} }, () => ({ text: 'gold' }))
  const started = await start()
  const result = await finish(started)
  expect(result.result).toMatch(/gold.*in short/)
  const events = await readSse(await call(`/api/sessions/${started.session}/events`))
  const of = (type: string) =>
    events.flatMap(({ event, data }) => (event === type ? [data.data] : []))
  const [outer, ...inner] = of('tool_started')
  expect(inner.map(({ call: id, parent, tool }) => [id, parent, tool])).toEqual([
    [`${outer.call}.1`, outer.call, 'worker__run'],
    [`${outer.call}.2`, outer.call, 'kv__set'],
    [`${outer.call}.3`, outer.call, 'kv__get'],
  ])
  const [{ usage: ofChild }] = of('agent_result')
  expect((await childOf(started.session)).runs).toMatchObject([{ state: 'completed' }])
  expect(of('model_called').filter(({ plugin }) => plugin === 'broker')).toHaveLength(1)
  // Two model calls of the lead's, one of the plugin's, 110 each, and the child's.
  expect(ofChild.tokens).toBe(110)
  expect(result.usage).toMatchObject({
    tokens: 3 * 110 + ofChild.tokens,
    modelCalls: 3 + ofChild.modelCalls,
    turns: 2 + ofChild.turns,
    toolCalls: 1 + 3 + ofChild.toolCalls,
    children: 1,
  })
})

it('Y5: an agent with code of its own, on an island, counts as a child and its sub-agent as another', async () => {
  script({ name: 'coder__run', input: { task: 'child task' } }, () => ({ text: 'gold' }))
  const result = await finish(await start())
  expect(result.result).toContain('in short')
  expect(result.usage).toMatchObject({ tokens: 4 * 110, children: 2, toolCalls: 2, modelCalls: 4 })
})

it('I15: a cancel reaches the sub-agent that code called', async () => {
  script({ name: 'broker__go', input: {} }, () => ({ wait: new Promise(() => {}) }))
  const started = await start()
  await vi.waitFor(async () => expect((await childOf(started.session)).runs).toHaveLength(1), {
    timeout: 60_000,
  })
  await callJson(`/api/sessions/${started.session}/runs/${started.run}/cancel`, { json: {} })
  expect(await finish(started)).toMatchObject({ state: 'cancelled' })
  await vi.waitFor(async () =>
    expect((await childOf(started.session)).runs).toMatchObject([{ state: 'cancelled' }]),
  )
})

it('F5, E1: a crash in the middle leaves an unknown outcome, books the whole lease and ends the sub-agent', async () => {
  let asked = 0
  script({ name: 'broker__go', input: {} }, () => {
    asked += 1
    return { wait: new Promise(() => {}) }
  })
  const started = await start()
  await vi.waitFor(() => expect(asked).toBe(1), { timeout: 60_000 })
  // From the next checkpoint on the session knows of it.
  await vi.waitFor(async () => expect((await childOf(started.session)).runs).toHaveLength(1), {
    timeout: 60_000,
  })
  await abortAllDurableObjects()
  const result = await finish(started)
  expect(result.actions).toMatchObject([{ ok: false, code: 'tool_outcome_unknown' }])
  // What one call of the plugin may take: far more than the two model calls of the lead.
  expect(result.usage.tokens).toBeGreaterThan(10_000)
  await vi.waitFor(
    async () =>
      expect((await childOf(started.session)).runs).toMatchObject([{ state: 'cancelled' }]),
    { timeout: 60_000, interval: 100 },
  )
})
