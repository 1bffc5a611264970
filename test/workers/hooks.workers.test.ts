import { env } from 'cloudflare:workers'
import { afterEach, expect, it, vi } from 'vitest'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { call, callJson, type Answer } from '../fakes/client.ts'
import { installUpstream, type UpstreamRequest } from '../fakes/upstream.ts'

/** A stranger's plugin that listens everywhere, counts in its storage, and forbids one key. */
const code = vi.hoisted(
  () => `
export default () => {
  const told = async ({ on }, { storage }) => {
    await storage.set('count', Number((await storage.get('count')) ?? 0) + 1)
  }
  const points = ['sessionStart', 'sessionReset', 'sessionEnd', 'beforeDispatch', 'afterModelCall', 'subAgentStop']
  return {
    hooks: {
      ...Object.fromEntries(points.map((on) => [on, told])),
      async beforeModelCall(event, can) {
        await told(event, can)
        return { text: 'Mind the gap.' }
      },
      async beforeToolCall({ input }) {
        if (input.key === 'forbidden') return { veto: 'this key is mine' }
        return { input: { ...input, key: 'my-' + input.key } }
      },
      async afterToolCall({ result }) {
        return { result: { said: Object.keys(result) } }
      },
    },
  }
}`,
)

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate }, { bundleAgent }, kv] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('../fixtures/agents.ts'),
    import('isolated:plugins/kv'),
  ])
  const agentPoints = ['sessionStart', 'sessionReset', 'sessionEnd', 'beforeDispatch']
  const runPoints = ['beforeModelCall', 'afterModelCall', 'subAgentStop']
  const manifest = {
    id: 'watch',
    name: 'Watch',
    version: '1.2.3',
    description: 'Listens.',
    entrypoint: 'main.js',
    contributes: {
      hooks: [
        ...[...agentPoints, ...runPoints].map((on) => ({ on })),
        { on: 'beforeToolCall', match: 'kv__*' },
        { on: 'afterToolCall', match: 'kv__get' },
      ],
    },
    grants: { storage: '1mb' },
  }
  const limits = { max_depth: 4, max_turns: 10, max_tool_calls: 20, max_children: 4 }
  const bundledPlugins: readonly BundledPlugin[] = [
    isolate(kv.default, 'community'),
    isolate({ manifest, code, hash: 'watch'.padEnd(64, '1') }, 'community'),
    bundleAgent({ id: 'worker', uses: ['kv'], limits }),
    bundleAgent({ id: 'lead', uses: ['kv', 'worker'], limits }),
  ]
  return { bundledPlugins }
})
// How long an isolate takes on this machine is not what is tried here.
vi.mock('../../src/features/plugins/types/plugin-output.ts', async (load) => ({
  ...(await load<object>()),
  defaultHookTimeoutMs: 60_000,
}))
// The Worker was loaded before this file: the next request loads it anew, with the plugins above.
vi.resetModules()

let upstream: ReturnType<typeof installUpstream> | undefined
afterEach(() => upstream?.restore())

interface Call {
  readonly name: string
  readonly input: unknown
}

/** The model asks for these calls, one list a turn, then says what it was answered. */
function scripted(turns: readonly (readonly Call[])[]): void {
  upstream = installUpstream((request: UpstreamRequest) => {
    const answers = request.messages.filter(({ role }) => role === 'tool')
    const isChild = JSON.stringify(request.messages).includes('child task')
    const said = request.messages.filter(({ tool_calls: calls }) => calls).length
    const next = isChild ? undefined : turns[said]
    return next ? { calls: next } : { text: answers.map(({ content }) => content).join(' | ') }
  })
}

async function run(agent: string) {
  const { id: session } = await callJson('/api/sessions', { json: { agent } })
  const { run: id } = await callJson(`/api/sessions/${session}/runs`, { json: { task: 'go' } })
  const result: Answer = await vi.waitFor(
    async () => {
      const view = await callJson(`/api/sessions/${session}/runs/${id}`)
      expect(['completed', 'stopped', 'failed', 'cancelled']).toContain(view.state)
      return view.result
    },
    { timeout: 60_000, interval: 20 },
  )
  const stream = await call(`/api/sessions/${session}/events`)
  const events = (await stream.text())
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => JSON.parse(line.slice(5)) as Answer)
  const hooks = events
    .filter(({ type }) => type === 'hook_called')
    .map(({ data }) => data as Answer)
  return { session, result, hooks }
}

it('P16: a plugin on an island listens at every point of a session, and the record says so', async () => {
  scripted([
    Array.from({ length: 8 }, (_, index) => ({
      name: 'kv__set',
      input: { key: index === 3 ? 'forbidden' : `k${index}`, value: index },
    })),
    [{ name: 'kv__get', input: { key: 'k0' } }],
    [{ name: 'worker__run', input: { task: 'child task' } }],
  ])
  const { session, result, hooks } = await run('lead')
  expect(result.state).toBe('completed')
  const ok = result.actions.map((action: Answer) => action.ok)
  expect(ok.join(' ')).toBe('true true true false true true true true true true')
  expect(result.result).toContain('this key is mine')
  expect(result.result).toContain('{"said":["found","value"]}')
  expect(hooks.map(({ on, verdict, matched }) => `${on} ${verdict} ${matched}`)).toEqual([
    'sessionStart allow 1',
    'beforeDispatch allow 1',
    'beforeModelCall changed 1',
    'afterModelCall allow 1',
    // One call of the isolate for all of the turn.
    'beforeToolCall vetoed 8',
    'beforeModelCall changed 1',
    'afterModelCall allow 1',
    'beforeToolCall changed 1',
    'afterToolCall changed 1',
    'beforeModelCall changed 1',
    'afterModelCall allow 1',
    'subAgentStop allow 1',
    'beforeModelCall changed 1',
    'afterModelCall allow 1',
  ])
  expect(hooks[0]).toMatchObject({ plugin: 'watch', version: '1.2.3', tier: 'community' })
  expect(JSON.stringify(hooks)).not.toMatch(/forbidden|mine|Mind/)
  expect(
    upstream?.requests.every(({ messages }) => /Mind the gap/.test(String(messages[0]?.content))),
  ).toBe(true)

  await call(`/api/sessions/${session}`, { method: 'DELETE' })
  const { results } = await env.DB.prepare(
    `SELECT principal, data FROM audit WHERE session = '' AND type = 'hook_called'`,
  ).all<{ principal: string; data: string }>()
  const ended = results.map(({ data }) => JSON.parse(data) as Answer)
  expect(ended).toMatchObject(
    // The child's session ends with its parent's.
    [
      { on: 'sessionEnd', verdict: 'allow' },
      { on: 'sessionEnd', verdict: 'allow', session },
    ],
  )
})
