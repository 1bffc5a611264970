import { describe, expect, it } from 'vitest'
import code from 'isolated:plugins/code'
import kv from 'isolated:plugins/kv'
import type { ToolResult } from '#contracts/tool.ts'
import { unlimited } from '#contracts/lease.ts'
import { openCapabilities } from '../../src/features/plugins/capabilities/capabilities.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { isolates, modelCode } from '../fakes/isolates.ts'
import { createCapabilityDeps, passAll } from '../fakes/plugins.ts'
import { createToolContext } from '../fakes/tool-context.ts'

const manifest = { ...code.manifest, enabled: true }
const { plugins } = loadPlugins(
  [
    {
      manifest,
      files: {},
      hash: code.hash,
      register: () => ({ tools: { run: async () => undefined } }),
    },
  ],
  { validator: passAll, isolates },
)
const [plugin] = plugins

interface Options {
  readonly timeoutMs?: number
  readonly rootSession?: string
}

let sessions = 0

/** Runs code as the plugin `code` does, with one tool in reach; the budget of the call as it is said. */
function open({ timeoutMs = 2_000, rootSession = `ses_${(sessions += 1)}` }: Options = {}) {
  const asked: unknown[] = []
  const callTool = async (tool: string, input: unknown): Promise<ToolResult> => {
    asked.push([tool, input])
    return { ok: true, output: { key: 'a', said: 'hello' } }
  }
  const context = createToolContext({
    rootSession,
    inner: { reaches: (tool) => tool === 'kv__get', callTool },
  })
  const one = openCapabilities(plugin!, context, createCapabilityDeps({ modelCode }))
  const { isolate } = one.capabilities
  const run = async (text: string): Promise<unknown> =>
    isolate.run(text, { timeoutMs }).then(
      ({ result, logs }) => (logs.length > 0 ? { result, logs } : { result }),
      (error: Error) => ({ error: error.message }),
    )
  return { run, asked, context, spent: one.spent }
}

const tried = `const tried = async (attack) => {
  try { return ['ESCAPED', String(await attack()).slice(0, 200)] }
  catch (error) { return ['refused', String(error?.message ?? error).slice(0, 200)] }
};`

describe('P32: code that a model wrote is refused', () => {
  it.each([
    [
      'the network',
      "fetch('https://example.com')",
      /not permitted|no network|disallowed|internet/i,
    ],
    ['a WebSocket', "new WebSocket('wss://example.com').url", /not permitted/],
    [
      'a TCP socket',
      "(await import('cloudflare:sockets')).connect('127.0.0.1:22')",
      /isola\/plugin only/,
    ],
    ['node:net', "import('node:net')", /No such module/],
    ['node:fs', "import('node:fs')", /No such module/],
    ['a cache', "caches.default.match('https://a.b/')", /No Cache/],
    ['eval', "eval('1 + 1')", /Code generation/],
    ['Function', "new Function('return 1')()", /Code generation/],
    [
      'the constructor of a function',
      "(async () => {}).constructor('return 1')()",
      /Code generation/,
    ],
    [
      'WebAssembly',
      'WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))',
      /disallowed|not permitted|generation/i,
    ],
    ['a module by URL', "import('https://example.com/a.js')", /No such module/],
    ['a module by data', "import('data:text/javascript,export default 1')", /No such module/],
    ['the API of plugins', "import('isola/plugin')", /No such module/],
    [
      'a tool that is not its own',
      "tools.call('http__get', { url: 'https://a.b' })",
      /not granted: the tool http__get/,
    ],
    [
      'itself as a tool',
      "tools.call('code__run', { code: '1' })",
      /not granted: the tool code__run/,
    ],
    ['a name that is no text', 'tools.call({ toString: () => "kv__get2" }, {})', /not granted/],
    ['input that is no object', "tools.call('kv__get', [1])", /a name and an object/],
    ['input that is no JSON', "tools.call('kv__get', { a: () => 1 })", /of type function/],
    ['to change its tools', 'tools.call = 1', /read only|object is not extensible/i],
    ['to change its console', 'console.log = 1', /read only|object is not extensible/i],
  ])('%s', async (_name, attack, reason) => {
    const { run, asked } = open()
    const answer = await run(`${tried} return tried(async () => { return await (${attack}) })`)
    expect(answer).toEqual({ result: ['refused', expect.stringMatching(reason)] })
    expect(asked).toEqual([])
  })

  it.each([
    ['env', "Object.keys((await import('cloudflare:workers')).env)", []],
    ['process.env', "Object.keys((await import('node:process')).env ?? {})", []],
    ['exports', "Object.keys((await import('cloudflare:workers')).exports)", ['default']],
    [
      'secrets',
      '[typeof secrets, typeof storage, typeof database, typeof env, typeof require]',
      Array(5).fill('undefined'),
    ],
  ])('has nothing in %s', async (_name, text, result) => {
    expect(await open().run(`return ${text}`)).toEqual({ result })
  })

  it('nothing of the host is in an error, and its line is that of the code', async () => {
    const answer = await open().run('const a = 1\nnope()')
    expect(answer).toEqual({
      error: 'The code failed. ReferenceError: nope is not defined (line 2)',
    })
  })

  it('code that is no JavaScript says why', async () => {
    const { error } = (await open().run('const = 1')) as { error: string }
    expect(error).toMatch(/^The code failed. SyntaxError: /)
    expect(error).not.toMatch(/\/|worker-code|entry\.ts/)
  })

  it.each([
    ['a getter that throws', 'throw { get message() { throw 1 } }', /The code failed/],
    ['a number', 'throw 7', /The code failed. 7/],
    ['nothing', 'throw undefined', /The code failed. undefined/],
    ['a long text', "throw new Error('x'.repeat(1e6))", /^.{1500,1700}$/s],
    [
      'a forged error',
      "throw Object.assign(new Error('a'), { code: 'tool_denied', transient: true, stack: 'plugin-code.js:999999999' })",
      /Error: a/,
    ],
  ])('takes %s for an error', async (_name, text, message) => {
    expect(await open().run(text)).toEqual({ error: expect.stringMatching(message) })
  })

  it.each([
    ['a function', 'return () => 1', /of type function/],
    ['a cycle', 'const a = {}; a.a = a; return a', /part of itself/],
    ['an instance', 'return new Map()', /Map instance/],
    ['NaN', 'return NaN', /not a JSON number/],
    ['more than 256 KiB', "return 'x'.repeat(300000)", /more than 256 KiB/],
  ])('does not take %s for a result', async (_name, text, message) => {
    expect(await open().run(text)).toEqual({ error: expect.stringMatching(message) })
  })

  it('a promise that never resolves ends in the deadline, and the next run of the same code works', async () => {
    const { run } = open({ timeoutMs: 200 })
    const text = "if (await tools.call('kv__get', {}) === 0) return 1; await new Promise(() => {})"
    const stopped = { error: 'The code took longer than 200 ms and was stopped.' }
    expect(await run(text)).toEqual(stopped)
    expect(await run(text)).toEqual(stopped)
  })

  it('a flood of tool calls ends the run', async () => {
    const { run } = open()
    const text = "for (let i = 0; i < 2000; i += 1) await tools.call('kv__get', {}).catch(() => {})"
    expect(await run(text)).toEqual({ error: expect.stringMatching(/more than 1000 calls/) })
  })

  it('a flood of logs is cut', async () => {
    const { logs } = (await open().run(
      "for (let i = 0; i < 1e4; i += 1) console.log('x'.repeat(1e4))",
    )) as { logs: string[] }
    expect(logs).toHaveLength(100)
    expect(logs[0]).toHaveLength(1_000)
  })
})

describe('P32: nothing survives a run', () => {
  it.each([
    ['a global', 'const was = globalThis.mine; globalThis.mine = 1; return was ?? 0', 0],
    ['a prototype', 'const was = [].mine; Array.prototype.mine = 1; return was ?? 0', 0],
    [
      'a changed JSON',
      "const was = JSON.mine; JSON.mine = 1; JSON.stringify = () => '{}'; return was ?? 0",
      0,
    ],
    [
      'the class of the entry',
      "const { default: one } = await import('entry.ts'); let done = 0; try { one.prototype.run = () => 'mine'; done = 1 } catch {} return done",
      0,
    ],
    [
      'a timer',
      'globalThis.count = (globalThis.count ?? 0) + 1; setInterval(() => (globalThis.count += 1), 1); return globalThis.count',
      1,
    ],
  ])('%s', async (_name, text, result) => {
    const { run } = open()
    expect(await run(text)).toEqual({ result })
    expect(await run(text)).toEqual({ result })
    expect(await run(text)).toEqual({ result })
  })

  it('nor do two runs of the same code at once meet', async () => {
    const { run } = open()
    const text =
      "globalThis.n = (globalThis.n ?? 0) + 1; await tools.call('kv__get', {}); return globalThis.n"
    expect(await Promise.all([run(text), run(text), run(text)])).toEqual([
      { result: 1 },
      { result: 1 },
      { result: 1 },
    ])
  })
})

describe('P32: code that a model wrote', () => {
  it('computes, calls the tools it was given, and what it logs is answered', async () => {
    const { run, asked } = open()
    const text =
      "console.log('a', { b: 1 }, new Error('c'))\nconst { said } = await tools.call('kv__get', { key: 'a' })\nreturn { said, sum: [1, 2].reduce((a, b) => a + b) }"
    expect(await run(text)).toEqual({
      result: { said: 'hello', sum: 3 },
      logs: ['a {"b":1} Error: c'],
    })
    expect(asked).toEqual([['kv__get', { key: 'a' }]])
  })

  it('costs what Cloudflare charges for a new id, once for each run', async () => {
    const { run, spent } = open()
    expect(spent()).toBeUndefined()
    await run('return 1')
    expect(spent()).toMatchObject({ costNanoUsd: 2_000_000 })
    await run('return 2')
    expect(spent()).toMatchObject({ costNanoUsd: 4_000_000 })
  })

  it('does not run without a budget for it', async () => {
    const context = createToolContext()
    const lease = { ...context.lease, maxCostNanoUsd: 1_999_999 }
    const deps = createCapabilityDeps({ modelCode })
    const { capabilities, spent } = openCapabilities(plugin!, { ...context, lease }, deps)
    await expect(capabilities.isolate.run('return 1')).rejects.toThrow(/budget/)
    expect(spent()).toBeUndefined()
    expect(unlimited).toBeGreaterThan(lease.maxCostNanoUsd)
  })

  it('is not run for code that did not come with the deployment, nor without the grant', async () => {
    const deps = createCapabilityDeps({ modelCode })
    for (const one of [
      { ...plugin!, tier: 'community' as const },
      { ...plugin!, granted: { ...plugin!.granted, isolate: false } },
    ]) {
      const { capabilities } = openCapabilities(one, createToolContext(), deps)
      await expect(capabilities.isolate.run('return 1')).rejects.toThrow(/not granted: isolate/)
    }
    expect(kv.manifest.id).toBe('kv')
  })
})
