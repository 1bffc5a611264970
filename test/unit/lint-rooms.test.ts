import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { otherFetches } from '../../scripts/lint/way-out.mjs'

const root = resolve(import.meta.dirname, '../..')

const functionOf = (lines: number) =>
  `export const a = () => {\n${'  // one line\n'.repeat(lines - 2)}}\n`
const fileOf = (lines: number) => `export const a = 1\n${'// one line\n'.repeat(lines - 1)}`

/** Fixture files by path; each ends up as one file of a copy of this repository's lint set-up. */
const fixtures: Record<string, string> = {
  // What the good cases import.
  'src/contracts/clock.ts': `import { z } from 'zod'\nexport type Clock = { readonly nowMs: () => number }\nexport const clockSchema = z.unknown()\n`,
  'src/kernel/loop.ts': `export const loop = 1\n`,
  'src/runtime/kernel/leases/ledger.ts': `export const ledger = 1\n`,
  'src/models/retry.ts': `export const retry = 1\n`,
  'plugins/kv/words.ts': `export const words = ['a']\n`,

  // Rooms: good.
  'src/kernel/good.ts': `import type { Clock } from '#contracts/clock.ts'\nimport { loop } from './loop.ts'\nexport const at = (clock: Clock) => clock.nowMs() + loop\n`,
  'src/kernel/good-leases.ts': `import { ledger } from '#runtime/kernel/leases/ledger.ts'\nexport const a = ledger\n`,
  'src/http/openai/deep/good.ts': `import { Hono } from 'hono'\nimport { cors } from 'hono/cors'\nimport { top } from '../../top.ts'\nexport const parts = [Hono, cors, top]\n`,
  'src/http/top.ts': `export const top = 1\n`,
  'src/sessions/good.ts': `import { DurableObject } from 'cloudflare:workers'\nimport { Lifecycle } from 'agents/lifecycle'\nexport const parts = [DurableObject, Lifecycle]\n`,
  'src/compose/composition.ts': `import OpenAI from 'openai'\nimport { loop } from './kernel/loop.ts'\nimport { retry } from '#models/retry.ts'\nexport const parts = [OpenAI, loop, retry, Date.now()]\n`,
  'plugins/kv/main.ts': `import { ToolError } from 'isola/plugin'\nimport { words } from './words.ts'\nexport default ({ fetch }: { fetch: (url: string) => unknown }) => [ToolError, words, fetch('https://a')]\n`,

  // Folders of a room, in their order.
  'src/sessions/storage/rows.ts': `export const rows = 1\n`,
  'src/sessions/runs/deep/queue.ts': `import { rows } from '../../storage/rows.ts'\nexport const queue = rows\n`,
  'src/sessions/upkeep/timer.ts': `import { queue } from '../runs/deep/queue.ts'\nimport { late } from './late.ts'\nexport const timer = [queue, late]\n`,
  'src/sessions/upkeep/late.ts': `export type Late = 1\nexport const late = 1\n`,
  'src/sessions/root.ts': `import { timer } from './upkeep/timer.ts'\nexport const root = timer\n`,
  'src/http/openai/up.ts': `import { top } from '../top.ts'\nexport const up = top\n`,
  'src/sessions/storage/against-order.ts': `import { queue } from '../runs/deep/queue.ts'\nexport const a = queue\n`,
  'src/sessions/runs/against-order-by-type.ts': `import type { Late } from '../upkeep/late.ts'\nexport type A = Late\n`,
  'src/sessions/runs/deep/against-order-by-reexport.ts': `export { late } from '../../upkeep/late.ts'\n`,
  'src/sessions/upkeep/against-order-to-root.ts': `import { root } from '../root.ts'\nexport const a = root\n`,
  'src/sessions/unlisted/against-order.ts': `import { rows } from '../storage/rows.ts'\nexport const a = rows\n`,
  'src/plugins/hooks/late.ts': `export const late = 1\n`,
  'src/plugins/sandbox/against-order.ts': `import { late } from '../hooks/late.ts'\nexport const a = late\n`,
  'src/plugins/tools/late.ts': `import { late } from '../hooks/late.ts'\nexport const a = late\n`,
  'src/catalog/lifecycle/against-order.ts': `import { root } from '../root.ts'\nexport const a = root\n`,
  'src/catalog/root.ts': `export const root = 1\n`,
  'src/sessions/against-order-from-root.ts': `import { a } from './unlisted/against-order.ts'\nexport const b = a\n`,

  // Rooms: bad.
  'src/http/crosses-by-path.ts': `import { loop } from '../kernel/loop.ts'\nexport const a = loop\n`,
  'src/http/openai/deep/crosses-by-path.ts': `import { loop } from '../../../kernel/loop.ts'\nexport const a = loop\n`,
  'src/http/crosses-by-hash.ts': `import { loop } from '#kernel/loop.ts'\nexport const a = loop\n`,
  'src/http/crosses-by-type.ts': `import type { Clock } from '../kernel/loop.ts'\nexport type A = Clock\n`,
  'src/http/crosses-by-type-query.ts': `export type A = typeof import('../kernel/loop.ts')\n`,
  'src/http/crosses-by-reexport.ts': `export { loop } from '../kernel/loop.ts'\n`,
  'src/http/crosses-by-star.ts': `export * from '../kernel/loop.ts'\n`,
  'src/http/crosses-dynamically.ts': `export const a = () => import('../kernel/loop.ts')\n`,
  'src/http/crosses-computed.ts': `export const a = (name: string) => import(name)\n`,
  'src/http/crosses-upward.ts': `import { parts } from '../composition.ts'\nexport const a = parts\n`,
  'src/sessions/crosses-to-leases.ts': `import { ledger } from '#runtime/kernel/leases/ledger.ts'\nexport const a = ledger\n`,
  'src/kernel/crosses-to-leases-by-path.ts': `import { ledger } from '../leases/ledger.ts'\nexport const a = ledger\n`,
  'src/leases/crosses-to-kernel.ts': `import { loop } from '#kernel/loop.ts'\nexport const a = loop\n`,
  'src/kernel/uses-openai.ts': `import OpenAI from 'openai'\nexport const a = OpenAI\n`,
  'src/kernel/uses-zod.ts': `import { z } from 'zod'\nexport const a = z\n`,
  'src/kernel/uses-platform.ts': `import { env } from 'cloudflare:workers'\nexport const a = env\n`,
  'src/kernel/uses-node.ts': `import { readFileSync } from 'node:fs'\nexport const a = readFileSync\n`,
  'src/http/uses-openai.ts': `import OpenAI from 'openai'\nexport const a = OpenAI\n`,
  'src/sessions/uses-whole-agents.ts': `import { Agent } from 'agents'\nexport const a = Agent\n`,
  'src/contracts/uses-hono.ts': `import { Hono } from 'hono'\nexport const a = Hono\n`,
  'src/contracts/plugin.ts': `import type { Clock } from './clock.ts'\nexport type A = Clock\n`,
  'src/storage/cycle-a.ts': `import { b } from './cycle-b.ts'\nexport const a = (): unknown => b\n`,
  'src/storage/cycle-b.ts': `import { a } from './cycle-a.ts'\nexport const b = (): unknown => a\n`,
  'src/storage/cycle-by-hash.ts': `import type { D } from '#contracts/cycle-d.ts'\nexport type C = D\n`,
  'src/contracts/cycle-d.ts': `import type { E } from '#contracts/cycle-e.ts'\nexport type D = E | 1\n`,
  'src/contracts/cycle-e.ts': `import type { D } from '#contracts/cycle-d.ts'\nexport type E = D | 2\n`,

  // Contracts: shapes and constructors.
  'src/contracts/good-shapes.ts': `import { z } from 'zod'\nexport const one = z.array(z.string()).superRefine((list, context) => {\n  for (const text of list) if (text === '') context.addIssue('empty')\n})\nexport class Wrong extends Error {}\nexport const isOne = (value: unknown): value is 1 => value === 1\nexport const toText = (values: readonly number[]) => values.map(String).join(' ')\n`,
  'src/contracts/shapes-loop.ts': `export function sum(values: readonly number[]) {\n  for (const value of values) if (value > 1) return value\n  return 0\n}\n`,
  'src/contracts/shapes-state.ts': `export const createCounter = () => ({ count: 0 })\n`,
  'src/contracts/shapes-let.ts': `export const most = (a: number, b: number) => {\n  let most = a\n  if (b > a) most = b\n  return most\n}\n`,
  'src/contracts/shapes-wait.ts': `export const first = async (work: () => Promise<number>) => {\n  const one = await work()\n  return one + 1\n}\n`,

  // Plugins: bad.
  'plugins/kv/uses-contracts.ts': `import type { Clock } from '#contracts/clock.ts'\nexport type A = Clock\n`,
  'plugins/kv/uses-package.ts': `import { z } from 'zod'\nexport const a = z\n`,
  'plugins/kv/uses-other-plugin.ts': `import { words } from '../files/words.ts'\nexport const a = words\n`,
  'plugins/kv/fetches-freely.ts': `export const a = () => fetch('https://example.com')\n`,

  // Origin.
  'src/kernel/good-origin.ts': `// A sub-agent, an MCP tool and a plugin all look alike here.\nexport const labels = { tool: 'kv__get', kind: 'tool', original: 1 }\n`,
  'src/leases/origin-property.ts': `export const a = (tool: { origin: string }) => tool.origin\n`,
  'src/kernel/origin-property.ts': `export const a = (tool: { origin: string }) => tool.origin\n`,
  'src/kernel/origin-flag.ts': `export const a = (isSubAgent: boolean) => isSubAgent\n`,
  'src/kernel/origin-literal.ts': `export const a = (kind: string) => kind === 'mcp'\n`,
  'src/kernel/origin-type.ts': `export type Kind = 'tool' | 'subagent'\n`,
  'src/kernel/origin-template.ts': 'export const a = `plugin`\n',
  'src/kernel/origin-key.ts': `export const a = { human: 1 }\n`,
  'src/sessions/origin-tier.ts': `export const a = (call: { tier: number }) => call.tier === 1\n`,
  'src/sessions/origin-tier-switch.ts': `export const a = (tier: number) => {\n  switch (tier) {\n    case 1:\n      return 1\n    default:\n      return 2\n  }\n}\n`,
  'src/governance/origin-elsewhere.ts': `export const origin = 'plugin'\n`,

  // Ambient state.
  'src/catalog/good-ambient.ts': `export const a = (at: number, date = new Date(at)) => [date, Math.max(1, 2), crypto.subtle, Date.UTC(2026, 1)]\nexport const b = (process: (n: number) => number) => ({ process: process(1) })\n`,
  'src/catalog/ambient-now.ts': `export const a = () => Date.now()\n`,
  'src/catalog/ambient-now-value.ts': `export const a = (now = Date.now) => now()\n`,
  'src/catalog/ambient-now-taken-apart.ts': `const { now } = Date\nexport const a = now\n`,
  'src/catalog/ambient-new-date.ts': `export const a = () => new Date()\n`,
  'src/catalog/ambient-random.ts': `export const a = () => Math.random()\n`,
  'src/catalog/ambient-uuid.ts': `export const a = () => crypto.randomUUID()\n`,
  'src/catalog/ambient-uuid-global.ts': `export const a = () => globalThis.crypto.randomUUID()\n`,
  'src/catalog/ambient-process.ts': `export const a = () => process.env.HOME\n`,
  'src/catalog/ambient-chdir.ts': `export const a = () => process.chdir('/')\n`,
  'src/catalog/ambient-global-process.ts': `export const a = () => globalThis.process\n`,
  'src/catalog/ambient-env.ts': `export const a = (env: { KEY: string }) => env.KEY\n`,
  'src/catalog/ambient-this-env.ts': `export class A {\n  env = { KEY: 'a' }\n  key() {\n    return this.env.KEY\n  }\n}\n`,
  'src/catalog/ambient-env-taken-apart.ts': `export const a = (env: { KEY: string }) => {\n  const { KEY } = env\n  return KEY\n}\n`,
  'src/sessions/ambient-imported-env.ts': `import { env } from 'cloudflare:workers'\nexport const a = env\n`,

  // Submissions.
  'src/runtime/session/types/submission.ts': `export const sessionProtocol = 1\nexport interface SubmitRequest {\n  readonly principal: string\n}\nexport type Receipt = string\n`,
  'src/sessions/entry/good-submission.ts': `import { sessionProtocol, type SubmitRequest } from '#runtime/session/types/submission.ts'\nexport const toSubmission = (principal: string): SubmitRequest & object => ({ principal, messages: [], protocol: sessionProtocol })\n`,
  'src/sessions/good-submission.ts': `import type { SubmitRequest } from '#runtime/session/types/submission.ts'\nexport const whose = ({ principal }: SubmitRequest) => ({ principal })\n`,
  'src/http/good-submission.ts': `import type { Receipt } from '#runtime/session/types/submission.ts'\nexport const a = (work: { submit: () => Receipt }, session: string) => [{ session, messages: [] }, work.submit()]\n`,
  'src/http/submission-typed.ts': `import type { SubmitRequest } from '#runtime/session/types/submission.ts'\nexport type A = SubmitRequest\n`,
  'src/http/submission-renamed.ts': `import type { SubmitRequest as Other } from '#runtime/session/types/submission.ts'\nexport type A = Other\n`,
  'src/http/submission-imported-whole.ts': `import * as all from '#runtime/session/types/submission.ts'\nexport const a = all\n`,
  'src/http/submission-exported.ts': `export { sessionProtocol } from '#runtime/session/types/submission.ts'\n`,
  'src/http/submission-by-type-query.ts': `export type A = import('#runtime/session/types/submission.ts').SubmitRequest\n`,
  'src/http/submission-literal.ts': `export const a = (principal: string) => ({ principal, messages: [] })\n`,
  'src/agents/submission-of-a-call.ts': `export const a = (key: string) => ({ 'idempotencyKey': key, messages: [] })\n`,
  'src/sessions/waiting/submission-again.ts': `export const a = (principal: string) => ({ principal, messages: ['a'] })\n`,
  'src/sessions/submission-protocol.ts': `import { sessionProtocol } from '#runtime/session/types/submission.ts'\nexport const a = sessionProtocol\n`,
  'src/http/submission-sent.ts': `export const a = (api: { run: (a: string, b: object) => void }, b: object) => api.run('ses', b)\n`,
  'src/http/submission-streamed.ts': `export const a = (api: { runStream: (a: string, b: object) => void }, b: object) => api['runStream']('ses', b)\n`,
  // The way out.
  'src/outbound/network.ts': `export const send = (url: string) => fetch(url)\n`,
  'src/http/good-way-out.ts': `// Nobody calls fetch here.\nexport const a = (send: (url: string) => unknown) => ({ sent: send('https://a'), fetched: 1 })\n`,
  'src/http/way-out-global.ts': `export const a = () => fetch('https://example.com')\n`,
  'src/http/way-out-of-a-global.ts': `export const a = () => globalThis.fetch('https://example.com')\n`,
  'src/http/way-out-by-text.ts': `export const a = () => globalThis['fetch']('https://example.com')\n`,
  'src/http/way-out-taken-apart.ts': `const { fetch: other } = globalThis\nexport const a = () => other('https://example.com')\n`,
  'src/http/way-out-handed-in.ts': `export const a = (deps: { fetch: (url: string) => unknown }) => deps.fetch('https://a')\n`,
  'src/http/way-out-handed-on.ts': `const open = (parts: object) => parts\nexport const a = () => open({ fetch })\n`,
  'src/http/way-out-stub.ts': `export const a = (stub: Fetcher) => stub.fetch('https://example.com')\n`,
  'src/http/way-out-type.ts': `export interface A {\n  readonly network: typeof fetch\n}\n`,
  'src/http/way-out-socket.ts': `export const a = () => new WebSocket('wss://example.com')\n`,
  'src/way-out-beside-the-rooms.ts': `export const a = () => fetch('https://example.com')\n`,

  // Rules of oxlint itself, set up by us.
  'src/catalog/any.ts': `export const a = (value: any): unknown => value\n`,
  'src/catalog/floating.ts': `const later = async () => 1\nexport const a = () => {\n  later()\n}\n`,
  'src/catalog/exhaustive.ts': `export const a = (kind: 'one' | 'two') => {\n  switch (kind) {\n    case 'one':\n      return 1\n  }\n  return 2\n}\n`,
  'src/catalog/console.ts': `export const a = () => console.log('a')\n`,

  // Lengths, comments counted.
  'src/catalog/long-enough.ts': `${functionOf(120)}${'// one line\n'.repeat(180)}`,
  'src/catalog/long-function.ts': functionOf(121),
  'src/catalog/long-file.ts': fileOf(301),
  'src/platform/models/price-data.ts': fileOf(301),
  'src/bundled.gen.ts': fileOf(301),
}

interface Report {
  diagnostics: { code: string; filename: string; severity: string }[]
}

describe('lint rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'isola-lint-'))
  const found = new Map<string, string[]>()

  beforeAll(() => {
    for (const path of [
      '.oxlintrc.json',
      'package.json',
      'tsconfig.json',
      'worker-configuration.d.ts',
      'scripts/lint',
    ]) {
      cpSync(join(root, path), join(folder, path), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    for (const [path, source] of Object.entries(fixtures)) {
      mkdirSync(join(folder, dirname(path)), { recursive: true })
      writeFileSync(join(folder, path), source)
    }
    const args = [
      join(root, 'node_modules/oxlint/bin/oxlint'),
      '--type-aware',
      '--format=json',
      'src',
      'plugins',
    ]
    const run = spawnSync(process.execPath, args, {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
    })
    const report = JSON.parse(run.stdout.slice(run.stdout.indexOf('{'))) as Report
    for (const { code, filename, severity } of report.diagnostics) {
      if (severity !== 'error') continue
      const codes = found.get(filename) ?? []
      found.set(filename, [...codes, code])
    }
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const refusals = (path: string) => {
    // A misspelt path would pass as a clean file.
    expect(Object.keys(fixtures)).toContain(path)
    return [...new Set(found.get(path))]
  }

  it('Y2: a room, a composition and a plugin that keep the room rule pass', () => {
    const good = [
      'src/contracts/clock.ts',
      'src/kernel/good.ts',
      'src/kernel/good-leases.ts',
      'src/http/openai/deep/good.ts',
      'src/sessions/good.ts',
      'src/compose/composition.ts',
      'plugins/kv/main.ts',
    ]
    expect(good.filter((path) => refusals(path).length > 0)).toEqual([])
  })

  it.each(Object.keys(fixtures).filter((path) => path.includes('/crosses-')))(
    'Y1, N9: a room that reaches out of itself is refused (%s)',
    (path) => expect(refusals(path)).toContain('rooms(imports)'),
  )

  it.each(Object.keys(fixtures).filter((path) => path.includes('/against-order')))(
    'a folder that imports one built on it, or has no place in the order, is refused (%s)',
    (path) => expect(refusals(path)).toEqual(['rooms(imports)']),
  )

  it('folders that import those before them pass, and in rooms without an order all do', () => {
    const good = [
      'src/sessions/storage/rows.ts',
      'src/sessions/runs/deep/queue.ts',
      'src/sessions/upkeep/timer.ts',
      'src/sessions/root.ts',
      'src/plugins/tools/late.ts',
      'src/http/openai/up.ts',
    ]
    expect(good.filter((path) => refusals(path).length > 0)).toEqual([])
  })

  it.each(Object.keys(fixtures).filter((path) => /^src\/.*\/uses-/.test(path)))(
    'Y1, Y30: a room that imports an SDK which is not its own is refused (%s)',
    (path) => expect(refusals(path)).toContain('rooms(imports)'),
  )

  it.each(Object.keys(fixtures).filter((path) => path.includes('/shapes-')))(
    'contracts: what loops, waits, keeps a variable or makes state is refused (%s)',
    (path) => expect(refusals(path)).toContain('rooms(shapes-only)'),
  )

  it('contracts: schemas with their callbacks, errors and constructors pass', () => {
    expect(refusals('src/contracts/good-shapes.ts')).toEqual([])
  })

  it('Y2: isola/plugin is one file without imports, not even of its own room', () => {
    expect(refusals('src/contracts/plugin.ts')).toContain('rooms(imports)')
  })

  it.each(['uses-contracts', 'uses-package', 'uses-other-plugin'])(
    'Y2: a bundled plugin that imports more than isola/plugin and its own folder is refused (%s)',
    (name) => expect(refusals(`plugins/kv/${name}.ts`)).toContain('rooms(imports)'),
  )

  it('Y2, I26: a bundled plugin that calls the global fetch is refused', () => {
    expect(refusals('plugins/kv/fetches-freely.ts')).toContain('eslint(no-restricted-globals)')
  })

  it('refuses import cycles, also of types and through #contracts', () => {
    const cyclic = [
      'src/storage/cycle-a.ts',
      'src/storage/cycle-b.ts',
      'src/contracts/cycle-d.ts',
      'src/contracts/cycle-e.ts',
    ]
    for (const path of cyclic) expect(refusals(path)).toContain('import(no-cycle)')
    expect(refusals('src/storage/cycle-by-hash.ts')).toEqual([])
  })

  it.each(
    Object.keys(fixtures).filter(
      (path) => path.includes('/origin-') && !path.includes('governance'),
    ),
  )(
    "N1, N3, N11, E3: a kernel or session file that names a tool's origin is refused (%s)",
    (path) => expect(refusals(path)).toContain('rooms(no-origin)'),
  )

  it('N3: comments and other rooms may name an origin', () => {
    expect(refusals('src/kernel/good-origin.ts')).toEqual([])
    expect(refusals('src/governance/origin-elsewhere.ts')).toEqual([])
  })

  it.each(Object.keys(fixtures).filter((path) => /\/ambient-(?!.*env)/.test(path)))(
    'N4, N11: a room that reads a clock, chance or the process is refused (%s)',
    (path) => expect(refusals(path)).toContain('rooms(no-ambient)'),
  )

  it.each(Object.keys(fixtures).filter((path) => /\/ambient-.*env/.test(path)))(
    'X5: a room that reads env ambiently is refused (%s)',
    (path) => expect(refusals(path)).toContain('rooms(no-ambient)'),
  )

  it.each(Object.keys(fixtures).filter((path) => path.includes('/way-out-')))(
    'T5, Y1: a room with a way out of its own is refused (%s)',
    (path) => expect(refusals(path)).toContain('rooms(way-out)'),
  )

  it('T5: outbound/ itself, and who is given a way out, pass', () => {
    expect(refusals('src/outbound/network.ts')).toEqual([])
    expect(refusals('src/http/good-way-out.ts')).toEqual([])
  })

  it('T5: what is excepted has a `fetch` that is no way out', () => {
    const without = Object.keys(otherFetches).filter(
      (path) => !/\bfetch\b/.test(readFileSync(join(root, path), 'utf8')),
    )
    expect(without).toEqual([])
  })

  it('N4: a room that works on what it was given passes', () => {
    expect(refusals('src/catalog/good-ambient.ts')).toEqual([])
  })

  it('N11: process.env is refused in a room by oxlint itself too', () => {
    expect(refusals('src/catalog/ambient-process.ts')).toContain('node(no-process-env)')
  })

  it.each(Object.keys(fixtures).filter((path) => path.includes('/submission-')))(
    'A submission that is built or handed over beside the one way in is refused (%s)',
    (path) => expect(refusals(path)).toEqual(['rooms(one-submission)']),
  )

  it('the one way in builds submissions, a session takes them, and a surface asks for them', () => {
    const good = ['sessions/entry/', 'sessions/', 'http/'].map(
      (at) => `src/${at}good-submission.ts`,
    )
    expect(good.filter((path) => refusals(path).length > 0)).toEqual([])
  })

  it.each([
    ['any', 'typescript(no-explicit-any)'],
    ['floating', 'typescript(no-floating-promises)'],
    ['exhaustive', 'typescript(switch-exhaustiveness-check)'],
    ['console', 'eslint(no-console)'],
  ])('refuses %s by %s', (name, rule) => {
    expect(refusals(`src/catalog/${name}.ts`)).toContain(rule)
  })

  it('refuses a function over 120 lines and a file over 300, but not of data and generated files', () => {
    expect(refusals('src/catalog/long-function.ts')).toEqual(['eslint(max-lines-per-function)'])
    expect(refusals('src/catalog/long-file.ts')).toEqual(['eslint(max-lines)'])
    for (const path of ['catalog/long-enough.ts', 'platform/models/price-data.ts', 'bundled.gen.ts'])
      expect(refusals(`src/${path}`)).toEqual([])
  })
})
