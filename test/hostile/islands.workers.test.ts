import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import kv from 'isolated:plugins/kv'
import { IsolaError } from '#contracts/errors.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import type { ToolContext, ToolEntry } from '#contracts/tool.ts'
import { isolateModules, isolateVersion } from '../../src/isolate.gen.ts'
import { callCaps, refusal } from '../../src/features/plugins/sandbox/call-gate.ts'
import type { CallStubs } from '../../src/features/plugins/sandbox/inside/capabilities.ts'
import { runCall, type RunnerRequest } from '../../src/features/plugins/sandbox/run-call.ts'
import { createIsolates } from '../../src/features/plugins/sandbox/worker-code.ts'
import { systemSources } from '../../src/compose/sources.ts'
import { isolate, isolatedEntries, isolates, loadIsolated } from '../fakes/isolates.ts'
import { createFakeGateway } from '../fakes/session-gateway.ts'
import { createToolContext } from '../fakes/tool-context.ts'
import { toFolder } from './probe.ts'
import { dataOf } from '../fakes/events.ts'

/** Plugins that act over several calls; `input.step` says which one this is. */
const bodies = vi.hoisted(() => ({
  counter: 'globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count',
  keeper: `
    const kept = (globalThis.kept ??= can)
    if (input.step === 'keep') return 'kept'
    const all = [kept.storage.get('a'), kept.storage.set('a', 1), kept.fetch('https://api.example.com/')]
    return (await Promise.allSettled(all)).map(({ status }) => status)`,
  keeperOfFetch: `
    if (input.step === 'keep') { globalThis.kept = fetch; return 'kept' }
    return tried(() => globalThis.kept('https://elsewhere.example.com/'))`,
  keeperOfBody: `
    if (input.step === 'keep') { globalThis.kept = (await can.fetch('https://api.example.com/')).body.getReader(); return 'kept' }
    return tried(async () => (await globalThis.kept.read()).value.length)`,
  zombie: `
    const write = () => can.storage.set('zombie', 1).catch(() => {})
    setTimeout(write, 30); setInterval(write, 20)
    if (input.step === 'hang') return new Promise(() => {})
    return 'done'`,
  waiter: `
    const { waitUntil } = await import('cloudflare:workers')
    waitUntil((async () => { for (let i = 0; i < 20; i++) { await new Promise((r) => setTimeout(r, 10)); await can.storage.set('zombie', i) } })())
    return 'done'`,
  flood:
    'await Promise.allSettled(Array.from({ length: 1_500 }, () => can.storage.get("a"))); return "done"',
  patientFlood:
    'for (let i = 0; i < 5_000; i++) await can.storage.get("a").catch(() => {}); return "done"',
  fetchFlood:
    'await Promise.allSettled(Array.from({ length: 150 }, () => can.fetch("https://api.example.com/"))); return "done"',
  logFlood: 'for (let i = 0; i < 10_000; i++) can.log("x".repeat(3_000)); return "done"',
  never: 'return new Promise(() => {})',
  deaf: 'for (;;) await new Promise((r) => setTimeout(r, 5))',
  polluter:
    'Object.prototype.polluted = 1; Array.prototype.map = () => "mine"; return ({}).polluted',
}))

const grants = { storage: '1mb', network: [{ host: 'api.example.com', methods: ['GET'] }] }
const folderOf = (name: keyof typeof bodies, more: object = {}) => {
  const folder = toFolder({ name, body: bodies[name], grants, expect: () => {} })
  return { ...folder, manifest: { ...Object(folder.manifest), ...more } as unknown }
}

vi.mock('../../src/bundled.gen.ts', async () => {
  const [{ isolate: toIsolated }, { toFolder: folder }, neighbour] = await Promise.all([
    import('../fakes/isolates.ts'),
    import('./probe.ts'),
    import('isolated:plugins/kv'),
  ])
  const needs = { storage: '1mb', network: [{ host: 'api.example.com', methods: ['GET'] }] }
  const folders = Object.entries(bodies).map(([name, body]) =>
    folder({ name, body, grants: needs, expect: () => {} }),
  )
  const bundledPlugins: readonly BundledPlugin[] = [neighbour.default, ...folders].map((one) =>
    toIsolated(one, 'community'),
  )
  return { bundledPlugins }
})

/** One plugin in a world that counts what reaches it. */
function createWorld(
  name: keyof typeof bodies,
  tier: TrustTier = 'community',
  epoch = 0,
  more = {},
) {
  const sessions = createFakeGateway()
  const asked: string[] = []
  const counting = {
    ...sessions,
    at: (session: string) => ({
      ...sessions.at(session),
      storage: (request: Parameters<ReturnType<typeof sessions.at>['storage']>[0]) => {
        asked.push(`${request.verb} ${'key' in request ? request.key : ''}`)
        return sessions.at(session).storage(request)
      },
    }),
  }
  const fetch = async (url: string): Promise<Response> => (asked.push(url), new Response('x'))
  const [entry] = isolatedEntries(isolate(folderOf(name, more), tier, epoch), {
    sessions: counting,
    fetch,
  })
  const run = (
    step = '',
    context: Partial<ToolContext> = {},
  ): ReturnType<ToolEntry['tool']['execute']> =>
    entry!.tool.execute({ step }, createToolContext(context))
  return { run, asked }
}

const output = async (run: ReturnType<ToolEntry['tool']['execute']>) => {
  const result = await run
  return result.ok ? result.output : result.error
}
const pause = (ms: number) => systemSources.clock.sleep(ms)

async function expectHostLives(): Promise<void> {
  const [, set] = isolatedEntries(isolate(kv, 'community'))
  const answer = await set!.tool.execute({ key: 'a', value: 1 }, createToolContext())
  expect(answer).toMatchObject({ ok: true, output: { stored: 'a' } })
}

describe('T7: what an isolate keeps', () => {
  it('stays in the session tree for code without a trusted signer', async () => {
    const { run } = createWorld('counter')
    const at = (rootSession: string) => output(run('', { rootSession }))
    expect([await at('ses_a'), await at('ses_a'), await at('ses_b'), await at('ses_a')]).toEqual([
      1, 2, 1, 3,
    ])
  })

  it('is not reached again once the operator counted the grant epoch up', async () => {
    expect(await output(createWorld('counter', 'trusted', 1).run())).toBe(1)
    expect(await output(createWorld('counter', 'trusted', 1).run('', { rootSession: 'x' }))).toBe(2)
    expect(await output(createWorld('counter', 'trusted', 2).run())).toBe(1)
  })

  it('is another one with another configuration', async () => {
    const configured = (config: object) => createWorld('counter', 'trusted', 9, { config })
    expect(await output(configured({ a: 1 }).run())).toBe(1)
    expect(await output(configured({ a: 2 }).run())).toBe(1)
    expect(await output(configured({ a: 1 }).run())).toBe(2)
  })

  it('leaves the prototypes of other code alone', async () => {
    expect(await output(createWorld('polluter').run())).toBe(1)
    expect('polluted' in {}).toBe(false)
    expect([1].map((one) => one + 1)).toEqual([2])
    await expectHostLives()
  })
})

describe('T10: a plugin does not outlive its call', () => {
  it('with capabilities that it kept in a global', async () => {
    const { run, asked } = createWorld('keeper')
    expect(await output(run('keep'))).toBe('kept')
    expect(await output(run('use'))).toEqual(['rejected', 'rejected', 'rejected'])
    expect(asked).toEqual([])
  })

  it('with the global fetch of an earlier call: it is that of the call it is used in', async () => {
    const { run, asked } = createWorld('keeperOfFetch')
    expect(await output(run('keep'))).toBe('kept')
    expect(await output(run('use'))).toEqual(['refused', expect.stringMatching(/not granted/)])
    expect(asked).toEqual([])
  })

  it('with the body of a page that it did not read', async () => {
    const { run } = createWorld('keeperOfBody')
    expect(await output(run('keep'))).toBe('kept')
    expect(await output(run('use'))).toEqual([
      'refused',
      expect.stringMatching(/different request/),
    ])
  })

  it('with timers that go on after it answered', async () => {
    const { run, asked } = createWorld('zombie')
    expect(await output(run())).toBe('done')
    await pause(150)
    expect(asked).toEqual([])
  })

  it('with timers that go on after it was stopped', async () => {
    const { run, asked } = createWorld('zombie')
    const stop = new AbortController()
    const running = run('hang', { signal: stop.signal })
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(1))
    stop.abort(new IsolaError('tool_timeout', 'too long'))
    expect(await running).toMatchObject({ ok: false, error: { code: 'tool_timeout' } })
    const before = asked.length
    await pause(150)
    expect(asked.length).toBe(before)
  })

  it('with waitUntil', async () => {
    const { run, asked } = createWorld('waiter')
    expect(await output(run())).toBe('done')
    await pause(200)
    expect(asked).toEqual([])
  })

  it.each(['never', 'deaf'] as const)(
    'F24: when it does not answer (%s): the Runner has a deadline of its own',
    async (name) => {
      const { run } = createWorld(name)
      expect(await output(run())).toMatchObject({ code: 'tool_failed' })
      await expectHostLives()
    },
  )
})

describe('T8: floods', () => {
  it.each(['flood', 'patientFlood'] as const)('%s of the port ends the call', async (name) => {
    const { run, asked } = createWorld(name)
    expect(await output(run())).toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/made more than 1000 calls of the host/) as unknown,
    })
    expect(asked.length).toBeLessThanOrEqual(callCaps.maxPortCalls)
    await expectHostLives()
  })

  it('of requests end the call', async () => {
    const { run, asked } = createWorld('fetchFlood')
    expect(await output(run())).toMatchObject({
      message: expect.stringMatching(/made more than 100 requests/) as unknown,
    })
    expect(asked.length).toBeLessThanOrEqual(callCaps.maxFetches)
  })

  it('of log lines are cut', async () => {
    const [entry] = isolatedEntries(isolate(folderOf('logFlood'), 'community'))
    const context = createToolContext()
    expect(await output(entry!.tool.execute({}, context))).toBe('done')
    expect(context.events).toHaveLength(200)
    for (const event of context.events) expect(dataOf(event)['message']).toHaveLength(2_000)
  })
})

/** An isolate whose entry is the attacker's as well: nothing of our own code inside is between it and the Runner. */
let count = 0
function attackRunner(
  body: string,
  stubs: Partial<CallStubs> = {},
  more: Partial<RunnerRequest> = {},
) {
  const entry = `import { WorkerEntrypoint, RpcTarget } from 'cloudflare:workers'
    export default class extends WorkerEntrypoint { async run(job, port, fetcher, closed) { ${body} } }`
  const opened = createIsolates({
    loader: env.LOADER,
    shim: { modules: { 'entry.ts': entry }, modelModules: {}, version: 'x' },
    codeOf: async () => '',
  })
  count += 1
  const request = { plugin: 'x', job: '{}', timeoutMs: 2_000, maxChars: 1_000, ...more }
  return runCall(
    { isolates: opened, clock: systemSources.clock },
    { isolate: `raw-${count}`, ...request },
    {
      port: async () => '{"value":"served"}',
      fetcher: async () => new Response('fetched'),
      closed: () => new Promise(() => {}),
      ...stubs,
    },
  )
}

describe('T8: the three stubs', () => {
  const names = [
    'call',
    'apply',
    'bind',
    'prototype',
    'arguments',
    'caller',
    'fetch',
    'connect',
    'get',
    'list',
    'storage',
    'sessions',
    'env',
    'ctx',
    'close',
    'stubs',
    'exceeded',
    '_private',
    '#state',
    'port',
    'run',
    'alarm',
    'webSocketMessage',
    'then.call',
  ]
  it.each(['port', 'fetcher', 'closed'])('%s is a function and nothing else', async (stub) => {
    const answer = await attackRunner(
      `const found = []
       for (const name of ${JSON.stringify(names)}) {
         try { found.push([name, String(await ${stub}[name]('a', '{}'))]) } catch {}
         try { const value = await ${stub}[name]; if (value !== undefined) found.push([name, typeof value]) } catch {}
       }
       return JSON.stringify(found)`,
      { closed: async () => pause(1_500) },
      { maxChars: 100_000 },
    )
    const answered = JSON.parse(answer) as readonly [string, string][]
    // A function has a prototype of its own, which says nothing of ours.
    expect(answered.filter(([, value]) => /served|fetched|Response/.test(value))).toEqual([])
    expect(answered.map(([name]) => name).filter((name) => name !== 'prototype')).toEqual([])
  })

  it.each([
    ['no text', 'await port({}, [])'],
    ['text as long as a book', "await port('a', 'x'.repeat(3_000_000))"],
    ['a function', "await port('a', () => 'x')"],
    ['nothing', 'await port()'],
    ['a request that is no text', "await fetcher(new Request('https://a.b'))"],
  ])('take no other arguments: %s', async (_name, call) => {
    const asked: unknown[] = []
    const see = async (...given: unknown[]): Promise<string> => (asked.push(given), '{}')
    const answer = await attackRunner(
      `try { return ${call} } catch (error) { return String(error) }`,
      { port: see, fetcher: see },
    )
    expect(answer).toMatch(/JSON text/)
    expect(asked).toEqual([])
  })

  it('answer nothing after the call, however they were kept', async () => {
    let asked = 0
    const see = async (): Promise<string> => String((asked += 1))
    const answer = await attackRunner(
      `const kept = [port.dup(), port]
       this.ctx.waitUntil((async () => { for (let i = 0; i < 10; i++) { await new Promise((r) => setTimeout(r, 10)); for (const one of kept) { try { await one('a', '{}') } catch {} } } })())
       return 'done'`,
      { port: see, fetcher: see },
    )
    expect(answer).toBe('done')
    await pause(200)
    expect(asked).toBe(0)
  })
})

describe('T9: what comes back', () => {
  const isFault = (code: string) => (answer: string) =>
    expect(JSON.parse(answer)).toMatchObject({ error: { code } })
  it.each([
    ['a number', 'return 7', isFault('odd_answer')],
    ['nothing', 'return', isFault('odd_answer')],
    ['an object', "return { error: 'x' }", isFault('odd_answer')],
    ['a function', "return () => 'x'", isFault('odd_answer')],
    ['a target', 'return new RpcTarget()', isFault('odd_answer')],
    ['a response', "return new Response('x')", isFault('odd_answer')],
    ['a stream', 'return new ReadableStream()', isFault('odd_answer')],
    ['an array of two million', 'return new Array(2e6).fill(1)', isFault('odd_answer')],
    ['33 MB', "return 'x'.repeat(33 * 1024 * 1024)", isFault('crashed')],
    ['2 KB where 1,000 characters may be', "return 'x'.repeat(2_000)", isFault('too_large')],
    [
      'an error with flags',
      "throw Object.assign(new Error('x'), { retryable: true })",
      isFault('crashed'),
    ],
    ['an error of 10 MB', "throw new Error('x'.repeat(1e7))", isFault('crashed')],
    ['a stub as an error', 'throw new RpcTarget()', isFault('crashed')],
    ['a thenable that never is', 'return { then() {} }', isFault('crashed')],
    ['a getter', "return { get a() { throw new Error('x') } }", isFault('crashed')],
  ])('%s is one clear fault', async (_name, body, check) => {
    check(await attackRunner(body, {}, { timeoutMs: 1_000 }))
    await expectHostLives()
  })
})

describe('an isolate without its code', () => {
  it('is asked for again: a failure does not stick to the id', async () => {
    const tries: string[] = []
    const opened = createIsolates({
      loader: env.LOADER,
      shim: { modules: isolateModules, modelModules: {}, version: isolateVersion },
      codeOf: async (plugin) => {
        tries.push(plugin)
        if (tries.length === 1) throw new Error('the store is down')
        return folderOf('counter').code
      },
    })
    const job = JSON.stringify({
      about: { id: 'probe', version: '1.0.0', config: {} },
      work: { do: 'tool', name: 'go', input: {} },
      idempotencyKey: 'k',
      maxChars: 1_000,
    })
    const stubs: CallStubs = {
      port: async () => refusal('no'),
      fetcher: async () => refusal('no'),
      closed: () => new Promise(() => {}),
    }
    const call = () =>
      runCall(
        { isolates: opened, clock: systemSources.clock },
        { isolate: 'sticky', plugin: 'p', job, timeoutMs: 2_000, maxChars: 1_000 },
        stubs,
      )
    expect(JSON.parse(await call())).toMatchObject({ error: { code: 'plugin_code_unavailable' } })
    await vi.waitFor(async () => expect(JSON.parse(await call())).toEqual({ value: 1 }))
    expect(tries).toEqual(['p', 'p'])
  })
})

describe('looking at a plugin before it is used', () => {
  it('takes one whose parts are those of its manifest', async () => {
    await isolates.inspect({
      ...isolate(folderOf('counter'), 'community').isolated!,
      hash: folderOf('counter').hash,
      manifest: loadIsolated(isolate(folderOf('counter'), 'community')).manifest,
    })
  })

  it('refuses one that declares what it does not have', async () => {
    const more = {
      contributes: {
        tools: ['go', 'stop'].map((name) => ({ name, description: 'x', input_schema: {} })),
      },
    }
    const plugin = isolate(folderOf('counter', more), 'community')
    const inspecting = isolates.inspect({
      ...plugin.isolated!,
      hash: plugin.hash,
      manifest: loadIsolated(plugin).manifest,
    })
    await expect(inspecting).rejects.toMatchObject({
      code: 'plugin_contract_mismatch',
      message: expect.stringMatching(/without a function: stop/) as unknown,
    })
  })
})
