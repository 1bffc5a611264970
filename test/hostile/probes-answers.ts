import { expect } from 'vitest'
import type { Outcome, Probe } from './probe.ts'

const failsWith =
  (message: RegExp, transient?: true) =>
  ({ result }: Outcome): void => {
    const { label: _itsOwn, ...told } = result
    expect(told).toEqual({
      ok: false,
      error: {
        code: 'tool_failed',
        message: expect.stringMatching(message) as unknown,
        ...(transient && { transient }),
      },
    })
  }

const fails = (name: string, body: string, message: RegExp): Probe => ({
  name,
  body,
  expect: failsWith(message),
})

const module = (name: string, text: string, message: RegExp): Probe => ({
  name,
  module: text,
  expect: failsWith(message),
})

const notJson = /returned what is not JSON/
const tooLarge = /more than 1 MiB/
const silent = /^The tool probe__go failed\.$/

/** Answers of a plugin that would hurt their reader. */
export const answerProbes: readonly Probe[] = [
  fails('33 MB of text', "return 'x'.repeat(33 * 1024 * 1024)", tooLarge),
  fails('2 MB of text', "return 'x'.repeat(2 * 1024 * 1024)", tooLarge),
  fails('a million members', 'return Array.from({ length: 1_000_000 }, (_, i) => i)', tooLarge),
  fails('a cycle', 'const a = {}; a.a = a; return a', notJson),
  fails('a bigint', 'return { n: 10n }', notJson),
  fails('not a number', 'return { n: NaN }', notJson),
  fails('a function', 'return { run() {} }', notJson),
  fails('a symbol', 'return Symbol("x")', notJson),
  fails('a date', 'return new Date(0)', notJson),
  fails('a map', 'return new Map([[1, 2]])', notJson),
  fails('an instance', 'return new (class Evil { toJSON() { return 1 } })()', notJson),
  fails('a response', "return new Response('x')", notJson),
  fails('a stream', 'return new ReadableStream()', notJson),
  fails('101 levels', 'let a = 1; for (let i = 0; i < 101; i++) a = [a]; return a', notJson),
  fails('100,000 levels', 'let a = 1; for (let i = 0; i < 1e5; i++) a = [a]; return a', notJson),
  fails(
    'a stub',
    "const { RpcTarget } = await import('cloudflare:workers'); return new RpcTarget()",
    notJson,
  ),
  fails('a getter that throws', 'return { get a() { throw new Error("secret") } }', silent),
  fails('a proxy that throws', 'return new Proxy({}, { ownKeys() { throw 1 } })', /./),
  fails('a thenable that throws', 'return { then() { throw new Error("x") } }', silent),
  {
    name: 'a thenable that answers a thenable',
    body: 'return { then(done) { done({ then(done) { done("at last") } }) } }',
    expect: ({ result }) => expect(result).toMatchObject({ ok: true, output: 'at last' }),
  },
  {
    name: 'a __proto__ of its own',
    body: `return JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')`,
    expect: ({ result }) => {
      expect(result.ok).toBe(true)
      expect(Object.hasOwn({}, 'polluted') || 'polluted' in {}).toBe(false)
      expect(Object.getPrototypeOf(result.ok && result.output)).toBe(Object.prototype)
    },
  },
  {
    name: 'a toJSON on every object',
    body: "Object.prototype.toJSON = () => 'mine'; return { a: 1 }",
    // It changes what its own isolate says, and nothing else.
    expect: ({ result }) => {
      expect(result.ok).toBe(false)
      expect(JSON.stringify({ a: 1 })).toBe('{"a":1}')
    },
  },
  {
    name: 'nothing at all',
    body: 'return undefined',
    expect: ({ result }) => expect(result).toMatchObject({ ok: true, output: null }),
  },
]

/** Errors that a plugin throws. */
export const errorProbes: readonly Probe[] = [
  fails('an error with a secret in it', "throw new Error('the key is sk-123')", silent),
  fails('null', 'throw null', silent),
  fails('a text', "throw 'sk-123'", silent),
  fails('a symbol', 'throw Symbol("x")', silent),
  fails('a proxy', 'throw new Proxy({}, { get() { throw 1 } })', silent),
  fails(
    'the code of a denial',
    "throw Object.assign(new Error('x'), { code: 'tool_denied' })",
    silent,
  ),
  fails(
    'the code of a lease',
    "throw Object.assign(new Error('x'), { code: 'lease_cost' })",
    silent,
  ),
  fails(
    'the flags of the platform',
    "throw Object.assign(new Error('x'), { retryable: true, overloaded: true, durableObjectReset: true, remote: false })",
    silent,
  ),
  {
    name: 'our own code with more on it',
    body: "throw Object.assign(new Error('a'.repeat(10_000)), { code: 'tool_failed', transient: 1, retryable: true, pause: { kind: 'approval' }, usage: { tokens: -5 }, ok: true })",
    expect: (outcome) => {
      failsWith(/^a{2000}$/)(outcome)
    },
  },
  fails(
    'our own code with a message that is no text',
    "throw { code: 'tool_failed', message: { toString: () => 'x' } }",
    silent,
  ),
  fails(
    'ten megabytes',
    "throw Object.assign(new Error('y'.repeat(1e7)), { code: 'tool_failed' })",
    /^y{2000}$/,
  ),
  fails(
    'an error of the loader',
    "throw Object.assign(new Error('x'), { code: 'plugin_code_unavailable' })",
    silent,
  ),
]

const cannotRun = /cannot run/

/** A module that is no plugin. */
export const moduleProbes: readonly Probe[] = [
  module('throws at import', "throw new Error('at import')", cannotRun),
  module('does not parse', 'export default ((', /./),
  module('never ends its import', 'await new Promise(() => {}); export default 1', cannotRun),
  module('has no default', 'export const register = () => ({})', cannotRun),
  module('has a default that is no function', 'export default 7', cannotRun),
  module('throws at register', "export default () => { throw new Error('x') }", cannotRun),
  module('registers later', 'export default async () => ({ tools: { go() {} } })', cannotRun),
  module('registers a list', 'export default () => []', cannotRun),
  module('registers null', 'export default () => null', cannotRun),
  module('registers nothing of what it declares', 'export default () => ({})', cannotRun),
  module('registers what is no function', 'export default () => ({ tools: { go: 7 } })', cannotRun),
  module(
    'inherits its tools',
    'export default () => ({ tools: Object.create({ go: () => 1 }) })',
    cannotRun,
  ),
  module(
    'is a proxy',
    'export default () => new Proxy({}, { has() { throw new Error("x") } })',
    /./,
  ),
  module(
    'reaches for the network at import',
    "const page = await fetch('https://example.com'); export default () => ({ tools: { go: () => page.status } })",
    cannotRun,
  ),
  module(
    'reaches for the network at register',
    "let reason; export default () => { fetch('https://example.com').catch((e) => { reason = e }); return { tools: { async go() { await 0; throw Object.assign(reason, { code: 'tool_failed' }) } } } }",
    /no network outside of a call/,
  ),
  module(
    'imports another package',
    "import fs from 'node:fs'; export default () => ({ tools: { go: () => 1 } })",
    /./,
  ),
  module(
    'takes its isolate away',
    "import { abortIsolate } from 'cloudflare:workers'; export default () => ({ tools: { go: () => { abortIsolate('x'); return new Promise(() => {}) } } })",
    /^The tool probe__go did not answer in time\.$/,
  ),
]
