import { afterEach, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { callJson, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

/** Plugins of a stranger: each has one tool, `go`. */
const bodies = vi.hoisted(() => ({
  counter: 'globalThis.count = (globalThis.count ?? 0) + 1; return { count: globalThis.count }',
  reader: "return { status: (await fetch('https://api.example.com/')).status }",
  stuck: 'return new Promise(() => {})',
}))

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate }, { bundleAgent }, kv] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('../fixtures/agents.ts'),
    import('isolated:plugins/kv'),
  ])
  const limits = { max_depth: 4, max_turns: 10, max_tool_calls: 10, max_children: 4 }
  const manifestOf = (id: string) => ({
    id,
    name: id,
    version: '1.0.0',
    description: `Is ${id}.`,
    entrypoint: 'main.js',
    contributes: { tools: [{ name: 'go', description: 'Goes.', input_schema: {} }] },
    grants: { network: [{ host: 'api.example.com', methods: ['GET'] }] },
  })
  const foreign = [...Object.entries(bodies), ['broken', undefined] as const].map(([id, body]) => ({
    manifest: manifestOf(id),
    code: body
      ? `export default () => ({ tools: { async go(input, can) { ${body} } } })`
      : "throw new Error('at import')",
    hash: id.padEnd(64, '1'),
  }))
  const uses = ['kv', ...foreign.map(({ manifest }) => manifest.id)]
  const bundledPlugins: readonly BundledPlugin[] = [
    ...[kv.default, ...foreign].map((folder) => isolate(folder, 'community')),
    bundleAgent({ id: 'worker', uses, limits }),
    bundleAgent({ id: 'lead', uses: [...uses, 'worker'], limits }),
  ]
  return { bundledPlugins }
})

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

const answered = ({ messages }: UpstreamRequest) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))

interface Call {
  readonly name: string
  readonly input?: unknown
}

/** The model asks for these calls, one a turn, then says what it was answered. */
function scripted(calls: readonly Call[], own: readonly Call[] = []): void {
  upstream = installUpstream((request) => {
    const isChild = JSON.stringify(request.messages).includes('child task')
    const [script, done] = [isChild ? own : calls, answered(request)]
    const next = script[done.length]
    return next
      ? { calls: [{ input: {}, ...next }] }
      : { text: done.map((answer) => answer.replace(/\s+/g, ' ')).join(' | ') }
  })
}

async function start(agent: string): Promise<{ readonly session: string; readonly run: string }> {
  const { id: session } = await callJson('/api/sessions', { json: { agent } })
  const { run } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
  return { session, run }
}

const finish = ({ session, run }: Awaited<ReturnType<typeof start>>): Promise<Answer> =>
  vi.waitFor(
    async () => {
      const view = await callJson(`/api/sessions/${session}/runs/${run}`)
      expect(['completed', 'stopped', 'failed', 'cancelled']).toContain(view.state)
      return view.result
    },
    { timeout: 60_000, interval: 20 },
  )

it('Y3, P23: a session uses a tool whose code is on an island, and its storage is the session’s', async () => {
  scripted([
    { name: 'kv__set', input: { key: 'release', value: { day: 'Friday' } } },
    { name: 'kv__get', input: { key: 'release' } },
  ])
  const result = await finish(await start('worker'))
  expect(result.state).toBe('completed')
  expect(result.actions).toMatchObject([{ ok: true }, { ok: true }])
  expect(result.result).toContain('"day"')
})

it('T7: a session tree shares an isolate, another one has its own', async () => {
  scripted(
    [{ name: 'counter__go' }, { name: 'worker__run', input: { task: 'child task' } }],
    [{ name: 'counter__go' }],
  )
  const first = await finish(await start('lead'))
  expect(first.result).toMatch(/"count": ?1.*count[^0-9]+2/)
  upstream?.restore()
  scripted([{ name: 'counter__go' }])
  expect((await finish(await start('lead'))).result).toMatch(/"count": ?1/)
})

it('T5: what it sends goes through the session’s own egress', async () => {
  scripted([{ name: 'reader__go' }])
  const started = await start('worker')
  const result = await finish(started)
  // The scripted network has no such place.
  expect(result).toMatchObject({ state: 'completed', actions: [{ ok: false }] })
  expect(result.result).toContain('tool_failed')
})

it('a plugin that fails at import costs its own calls and nothing else', async () => {
  scripted([{ name: 'broken__go' }, { name: 'kv__set', input: { key: 'a', value: 1 } }])
  const result = await finish(await start('worker'))
  expect(result).toMatchObject({ state: 'completed', actions: [{ ok: false }, { ok: true }] })
  expect(result.result).toContain('cannot run: the module failed: Error: at import')
})

it('I15: a cancel ends a call that never answers', async () => {
  scripted([{ name: 'stuck__go' }])
  const started = await start('worker')
  const at = `/api/sessions/${started.session}/runs/${started.run}`
  await vi.waitFor(async () =>
    expect(JSON.stringify(await callJson(`/api/sessions/${started.session}`))).toContain('running'),
  )
  await callJson(`${at}/cancel`, { json: {} })
  expect(await finish(started)).toMatchObject({ state: 'cancelled' })
})
