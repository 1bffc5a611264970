import { expect } from 'vitest'
import type { Outcome, Probe } from './probe.ts'

/** The attack answered that it was refused, and why. */
const refusedWith =
  (reason: RegExp) =>
  ({ result }: Outcome): void => {
    expect(result).toMatchObject({ ok: true, output: ['refused', expect.stringMatching(reason)] })
  }

const refusedOnRecord =
  (reason: RegExp) =>
  (outcome: Outcome): void => {
    refusedWith(reason)(outcome)
    expect(outcome.events).toContainEqual(
      expect.objectContaining({
        type: 'network_requested',
        data: expect.objectContaining({ refused: true }) as unknown,
      }),
    )
  }

const attempt = (name: string, attack: string, reason: RegExp): Probe => ({
  name,
  body: `return tried(async () => { ${attack} })`,
  expect: refusedWith(reason),
})

const granted = { network: [{ host: 'api.example.com', methods: ['GET'] }] }
const fetching = (name: string, attack: string, reason: RegExp): Probe => ({
  ...attempt(name, attack, reason),
  grants: granted,
  expect: refusedOnRecord(reason),
})

/** What keeps a plugin off the network, with nothing granted or in spite of what was. */
export const networkProbes: readonly Probe[] = [
  attempt('global fetch without a grant', "return fetch('https://example.com')", /not granted/),
  attempt('the capability without a grant', "return can.fetch('https://a.b')", /not granted/),
  attempt(
    'fetch at a place that has no call',
    "return await new Promise((done, fail) => { globalThis.go = () => fetch('https://a.b').then(done, fail); globalThis.go() })",
    /not granted/,
  ),
  attempt('a WebSocket', "return new WebSocket('wss://example.com').url", /not permitted/),
  attempt(
    'an EventSource',
    "return await new Promise((done, fail) => { const s = new EventSource('https://example.com'); s.onopen = done; s.onerror = (e) => fail(new Error('not permitted ' + e.message)) })",
    /not permitted/,
  ),
  attempt(
    'a TCP socket',
    "const { connect } = await import('cloudflare:sockets'); return connect('127.0.0.1:22')",
    /imports isola\/plugin only/,
  ),
  attempt('the default cache', "return caches.default.match('https://a.b/')", /No Cache/),
  attempt('a named cache', "return (await caches.open('x')).match('https://a.b/')", /No Cache/),
  attempt(
    'its own entrypoint as a way out',
    "const { exports } = await import('cloudflare:workers'); return exports.default.fetch('https://example.com')",
    /fetch|handler|entrypoint/i,
  ),
  attempt(
    'purging a cache',
    "const { cache } = await import('cloudflare:workers'); return await cache.purge({ purgeEverything: true })",
    /./,
  ),
  fetching('http', "return can.fetch('http://api.example.com/')", /only https/),
  fetching('another host', "return can.fetch('https://evil.example.com/')", /not granted/),
  fetching(
    'another method',
    "return can.fetch('https://api.example.com/', { method: 'POST', body: 'x' })",
    /not granted/,
  ),
  fetching('another port', "return can.fetch('https://api.example.com:8443/')", /port/),
  fetching('userinfo', "return can.fetch('https://a:b@api.example.com/')", /user name/),
  fetching('loopback', "return fetch('https://127.0.0.1/')", /not public/),
  fetching('loopback in hex', "return fetch('https://0x7f.1/')", /not public/),
  fetching('metadata', "return fetch('https://169.254.169.254/latest')", /not public/),
  fetching('mapped loopback', "return fetch('https://[::ffff:127.0.0.1]/')", /not public/),
  fetching('a file', "return can.fetch('file:///etc/passwd')", /only https/),
  fetching('data', "return can.fetch('data:text/plain,x')", /only https/),
  fetching(
    'a redirect to somewhere else',
    "return can.fetch('https://api.example.com/redirect')",
    /not public|not granted/,
  ),
  {
    ...attempt('every host', "return can.fetch('https://example.com/')", /not granted/),
    grants: { network: [{ host: '*', methods: ['GET'] }] },
    expect: refusedOnRecord(/not granted/),
  },
  attempt(
    'a header that says where it comes from',
    "return can.fetch('https://api.example.com/', { headers: { 'X-Forwarded-For': '1.2.3.4' } })",
    /not granted|set by the host/,
  ),
]

const imports: readonly (readonly [string, RegExp])[] = [
  ['node:fs', /No such module/],
  ['node:net', /No such module/],
  ['node:http', /No such module/],
  ['node:dns', /No such module/],
  ['node:child_process', /No such module/],
  ['node:vm', /No such module/],
  ['node:module', /No such module/],
  ['node:worker_threads', /No such module/],
  ['cloudflare:node', /isola\/plugin only/],
  ['cloudflare:workflows', /isola\/plugin only/],
  ['cloudflare:email', /No such module/],
  ['cloudflare-internal:workers', /No such module/],
  ['workerd:unsafe', /No such module/],
  ['https://example.com/x.js', /No such module/],
  ['data:text/javascript,export default 1', /No such module/],
  ['/etc/passwd', /No such module/],
  ['../../src/index.ts', /No such module|Invalid|Path/i],
]

/** Attempts to run code that no person has seen. */
export const codeProbes: readonly Probe[] = [
  attempt('eval', "return eval('1+1')", /Code generation/),
  attempt('indirect eval', "return (0, eval)('1+1')", /Code generation/),
  attempt('Function', "return new Function('return 1')()", /Code generation/),
  attempt(
    'an async Function by its constructor',
    "return (async () => {}).constructor('return 1')()",
    /Code generation/,
  ),
  attempt(
    'a generator by its constructor',
    "return (function* () {}).constructor('yield 1')()",
    /Code generation/,
  ),
  attempt('a timer of text', "return setTimeout('1+1', 0)", /./),
  attempt(
    'WebAssembly, compiled here',
    'return new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))',
    /Wasm code generation/,
  ),
  attempt(
    'WebAssembly, instantiated',
    'return WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))',
    /Wasm code generation/,
  ),
  ...imports.map(([name, reason]) =>
    attempt(`import(${name})`, `return import(${JSON.stringify(name)})`, reason),
  ),
]

const answers = (name: string, body: string, output: unknown): Probe => ({
  name,
  body,
  expect: ({ result }) => expect(result).toMatchObject({ ok: true, output }),
})

/** What lies around in an isolate. */
export const surroundingProbes: readonly Probe[] = [
  answers(
    'the env of its Worker',
    "const { env } = await import('cloudflare:workers'); return Object.keys(env)",
    [],
  ),
  answers(
    'the exports of its Worker',
    "const { exports } = await import('cloudflare:workers'); return Object.keys(exports)",
    ['default'],
  ),
  answers(
    'the process of node:process',
    "const { default: process } = await import('node:process'); return [Object.keys(process.env), String(process.getBuiltinModule('node:fs'))]",
    [[], 'undefined'],
  ),
  {
    name: 'an exit',
    body: "const { default: process } = await import('node:process'); process.exit(1)",
    expect: ({ result }) => expect(result).toMatchObject({ ok: false }),
  },
  answers('process, require and Buffer', 'return [typeof process, typeof require, typeof Buffer]', [
    'undefined',
    'undefined',
    'undefined',
  ]),
  answers(
    'names of bindings among the globals',
    'return Object.getOwnPropertyNames(globalThis).filter((name) => /^(DB|KV|AI|SESSION|PRINCIPAL|LOADER|env|ISOLA|OPENAI)/i.test(name))',
    [],
  ),
  answers('what register is given', 'return given.map((one) => Object.keys(one))', [
    ['id', 'version', 'config'],
  ]),
  answers('capabilities beyond the declared', 'return Object.keys(can).toSorted()', [
    'database',
    'emit',
    'fetch',
    'idempotencyKey',
    'isolate',
    'log',
    'memory',
    'model',
    'progress',
    'request',
    'secrets',
    'signal',
    'storage',
    'tools',
    'workspace',
  ]),
  {
    name: 'places of the host in a stack',
    body: 'return new Error("x").stack',
    expect: ({ result }) => {
      expect(result.ok).toBe(true)
      expect(JSON.stringify(result)).not.toMatch(/\/(?:work|tmp|home|src)\/|node_modules/)
    },
  },
  attempt('the workspace', 'return can.workspace.list()', /not granted: workspace/),
  attempt('the memory of the session', 'return can.memory.read()', /not granted: memory/),
  {
    name: 'storage that was not granted',
    body: "return tried(() => can.storage.get('a'))",
    grants: {},
    expect: refusedWith(/not granted: storage/),
  },
  attempt('a key of another kind', 'return can.storage.get({ toString: () => "a" })', /./),
  attempt('a key as long as a book', "return can.storage.get('x'.repeat(1000))", /1 to 512/),
  attempt('a value beyond the cap', "return can.storage.set('a', 'x'.repeat(1_500_000))", /1 MiB/),
  attempt('a value beyond the port', "return can.storage.set('a', 'x'.repeat(3_000_000))", /2 MiB/),
  attempt('options with more in them', 'return can.storage.list({ space: "workspace" })', /space/),
  attempt('a limit that is none', 'return can.storage.list({ limit: -1 })', /whole number/),
  attempt('fetch options of another kind', 'return can.fetch({ url: 1 })', /url|instance|Argum/),
  answers(
    'a key named __proto__',
    "await can.storage.set('__proto__', { polluted: 1 }); return [({}).polluted === undefined, await can.storage.get('__proto__')]",
    [true, { polluted: 1 }],
  ),
]
