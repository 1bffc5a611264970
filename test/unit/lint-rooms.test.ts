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
import { againstHouse, notYet } from '../../scripts/lint/house.mjs'
import { otherFetches } from '../../scripts/lint/way-out.mjs'

const root = resolve(import.meta.dirname, '../..')

const functionOf = (lines: number) =>
  `export const a = () => {\n${'  // one line\n'.repeat(lines - 2)}}\n`
const fileOf = (lines: number) => `export const a = 1\n${'// one line\n'.repeat(lines - 1)}`

/** Fixture files by path; each ends up as one file of a copy of this repository's lint set-up. */
const fixtures: Record<string, string> = {
  // What the good cases import.
  'src/contracts/clock.ts': `import { z } from 'zod'\nexport type Clock = { readonly nowMs: () => number }\nexport const clockSchema = z.unknown()\n`,
  'src/runtime/kernel/loop.ts': `export const loop = 1\n`,
  'src/runtime/session/types.ts': `export interface Card {\n  readonly id: string\n}\n`,
  'src/runtime/session/types/view.ts': `export type View = 'a'\n`,
  'src/features/schedules/routes.ts': `export const routes = ['a']\n`,
  'src/features/schedules/store.ts': `export const store = 1\n`,
  'src/platform/routes/kit.ts': `export const kit = 1\n`,
  'src/runtime/kernel/leases/ledger.ts': `export const ledger = 1\n`,
  'src/platform/models/retry.ts': `export const retry = 1\n`,
  'plugins/kv/words.ts': `export const words = ['a']\n`,

  // Rooms: good.
  'src/runtime/kernel/good.ts': `import type { Clock } from '#contracts/clock.ts'\nimport { loop } from './loop.ts'\nexport const at = (clock: Clock) => clock.nowMs() + loop\n`,
  'src/runtime/kernel/good-leases.ts': `import { ledger } from './leases/ledger.ts'\nexport const a = ledger\n`,
  'src/surfaces/http/openai/deep/good.ts': `import { Hono } from 'hono'\nimport { cors } from 'hono/cors'\nimport { top } from '../../top.ts'\nexport const parts = [Hono, cors, top]\n`,
  'src/surfaces/http/top.ts': `export const top = 1\n`,
  'src/runtime/session/good.ts': `import { DurableObject } from 'cloudflare:workers'\nimport { Lifecycle } from 'agents/lifecycle'\nexport const parts = [DurableObject, Lifecycle]\n`,
  'src/compose/composition.ts': `import OpenAI from 'openai'\nimport { loop } from '../runtime/kernel/loop.ts'\nimport { retry } from '#platform/models/retry.ts'\nexport const parts = [OpenAI, loop, retry, Date.now()]\n`,
  'plugins/kv/main.ts': `import { ToolError } from 'isola/plugin'\nimport { words } from './words.ts'\nexport default ({ fetch }: { fetch: (url: string) => unknown }) => [ToolError, words, fetch('https://a')]\n`,

  'src/features/schedules/good.ts': `import type { Card } from '#runtime/session/types.ts'\nimport type { View } from '#runtime/session/types/view.ts'\nimport { kit } from '#platform/routes/kit.ts'\nimport { store } from './store.ts'\nexport const parts = (card: Card, view: View) => [card, view, kit, store]\n`,
  'src/surfaces/http/good-mount.ts': `import { routes } from '#features/schedules/routes.ts'\nexport const mounted = routes\n`,

  // Folders of a room, in their order.
  'src/runtime/session/storage/rows.ts': `export const rows = 1\n`,
  'src/runtime/session/runs/deep/queue.ts': `import { rows } from '../../storage/rows.ts'\nexport const queue = rows\n`,
  'src/runtime/session/upkeep/timer.ts': `import { queue } from '../runs/deep/queue.ts'\nimport { late } from './late.ts'\nexport const timer = [queue, late]\n`,
  'src/runtime/session/upkeep/late.ts': `export type Late = 1\nexport const late = 1\n`,
  'src/runtime/session/root.ts': `import { timer } from './upkeep/timer.ts'\nexport const root = timer\n`,
  'src/surfaces/http/openai/up.ts': `import { top } from '../top.ts'\nexport const up = top\n`,
  'src/runtime/session/storage/against-order.ts': `import { queue } from '../runs/deep/queue.ts'\nexport const a = queue\n`,
  'src/runtime/session/runs/against-order-by-type.ts': `import type { Late } from '../upkeep/late.ts'\nexport type A = Late\n`,
  'src/runtime/session/runs/deep/against-order-by-reexport.ts': `export { late } from '../../upkeep/late.ts'\n`,
  'src/runtime/session/upkeep/against-order-to-root.ts': `import { root } from '../root.ts'\nexport const a = root\n`,
  'src/runtime/session/unlisted/against-order.ts': `import { rows } from '../storage/rows.ts'\nexport const a = rows\n`,
  'src/features/plugins/hooks/late.ts': `export const late = 1\n`,
  'src/features/plugins/sandbox/against-order.ts': `import { late } from '../hooks/late.ts'\nexport const a = late\n`,
  'src/features/plugins/tools/late.ts': `import { late } from '../hooks/late.ts'\nexport const a = late\n`,
  'src/runtime/catalog/lifecycle/against-order.ts': `import { root } from '../root.ts'\nexport const a = root\n`,
  'src/runtime/catalog/root.ts': `export const root = 1\n`,
  'src/runtime/session/against-order-from-root.ts': `import { a } from './unlisted/against-order.ts'\nexport const b = a\n`,

  // Rooms: bad.
  'src/surfaces/http/crosses-by-path.ts': `import type { Card } from '../../runtime/session/types.ts'\nexport type A = Card\n`,
  'src/surfaces/http/openai/deep/crosses-by-path.ts': `import { loop } from '../../../../runtime/kernel/loop.ts'\nexport const a = loop\n`,
  'src/surfaces/http/crosses-to-private.ts': `import { loop } from '#runtime/kernel/loop.ts'\nexport const a = loop\n`,
  'src/surfaces/http/crosses-to-private-store.ts': `import { store } from '#features/schedules/store.ts'\nexport const a = store\n`,
  'src/surfaces/openai/crosses-to-routes.ts': `import { routes } from '#features/schedules/routes.ts'\nexport const a = routes\n`,
  'src/surfaces/http/crosses-by-type.ts': `import type { loop } from '#runtime/kernel/loop.ts'\nexport type A = typeof loop\n`,
  'src/surfaces/http/crosses-by-type-query.ts': `export type A = typeof import('#runtime/kernel/loop.ts')\n`,
  'src/surfaces/http/crosses-by-reexport.ts': `export { loop } from '#runtime/kernel/loop.ts'\n`,
  'src/surfaces/http/crosses-by-star.ts': `export * from '#runtime/kernel/loop.ts'\n`,
  'src/surfaces/http/crosses-dynamically.ts': `export const a = () => import('#runtime/kernel/loop.ts')\n`,
  'src/surfaces/http/crosses-computed.ts': `export const a = (name: string) => import(name)\n`,
  'src/surfaces/http/crosses-to-composition.ts': `import { parts } from '#compose/composition.ts'\nexport const a = parts\n`,
  'src/client/crosses-to-types.ts': `import type { View } from '#runtime/session/types/view.ts'\nexport type A = View\n`,
  'src/runtime/session/crosses-upward.ts': `import { routes } from '#features/schedules/routes.ts'\nexport const a = routes\n`,
  'src/contracts/crosses-upward.ts': `import type { Card } from '#runtime/session/types.ts'\nexport type A = Card\n`,
  'src/platform/d1/crosses-upward.ts': `import type { Card } from '#runtime/session/types.ts'\nexport type A = Card\n`,
  'src/runtime/context/crosses-to-the-right.ts': `import type { Card } from '#runtime/session/types.ts'\nexport type A = Card\n`,
  'src/features/unlisted/crosses-without-a-place.ts': `import type { A } from '#features/schedules/types.ts'\nexport type B = A\n`,
  'src/features/schedules/types.ts': `export type A = 1\n`,
  'src/runtime/session/crosses-to-leases.ts': `import { ledger } from '#runtime/kernel/leases/ledger.ts'\nexport const a = ledger\n`,
  'src/runtime/kernel/leases/crosses-to-kernel.ts': `import { loop } from '../loop.ts'\nexport const a = loop\n`,
  'src/runtime/kernel/uses-openai.ts': `import OpenAI from 'openai'\nexport const a = OpenAI\n`,
  'src/runtime/kernel/uses-zod.ts': `import { z } from 'zod'\nexport const a = z\n`,
  'src/runtime/kernel/uses-platform.ts': `import { env } from 'cloudflare:workers'\nexport const a = env\n`,
  'src/runtime/kernel/uses-node.ts': `import { readFileSync } from 'node:fs'\nexport const a = readFileSync\n`,
  'src/surfaces/http/uses-openai.ts': `import OpenAI from 'openai'\nexport const a = OpenAI\n`,
  'src/runtime/session/uses-whole-agents.ts': `import { Agent } from 'agents'\nexport const a = Agent\n`,
  'src/contracts/uses-hono.ts': `import { Hono } from 'hono'\nexport const a = Hono\n`,
  'src/features/plugins/types/plugin.ts': `import type { Clock } from './clock.ts'\nexport type A = Clock\n`,
  'src/platform/d1/cycle-a.ts': `import { b } from './cycle-b.ts'\nexport const a = (): unknown => b\n`,
  'src/platform/d1/cycle-b.ts': `import { a } from './cycle-a.ts'\nexport const b = (): unknown => a\n`,
  'src/platform/d1/cycle-by-hash.ts': `import type { D } from '#contracts/cycle-d.ts'\nexport type C = D\n`,
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
  'src/runtime/kernel/good-origin.ts': `// A sub-agent, an MCP tool and a plugin all look alike here.\nexport const labels = { tool: 'kv__get', kind: 'tool', original: 1 }\n`,
  'src/runtime/kernel/leases/origin-property.ts': `export const a = (tool: { origin: string }) => tool.origin\n`,
  'src/runtime/kernel/origin-property.ts': `export const a = (tool: { origin: string }) => tool.origin\n`,
  'src/runtime/kernel/origin-flag.ts': `export const a = (isSubAgent: boolean) => isSubAgent\n`,
  'src/runtime/kernel/origin-literal.ts': `export const a = (kind: string) => kind === 'mcp'\n`,
  'src/runtime/kernel/origin-type.ts': `export type Kind = 'tool' | 'subagent'\n`,
  'src/runtime/kernel/origin-template.ts': 'export const a = `plugin`\n',
  'src/runtime/kernel/origin-key.ts': `export const a = { human: 1 }\n`,
  'src/runtime/session/origin-tier.ts': `export const a = (call: { tier: number }) => call.tier === 1\n`,
  'src/runtime/session/origin-tier-switch.ts': `export const a = (tier: number) => {\n  switch (tier) {\n    case 1:\n      return 1\n    default:\n      return 2\n  }\n}\n`,
  'src/features/access/origin-elsewhere.ts': `export const origin = 'plugin'\n`,

  // Ambient state.
  'src/runtime/catalog/good-ambient.ts': `export const a = (at: number, date = new Date(at)) => [date, Math.max(1, 2), crypto.subtle, Date.UTC(2026, 1)]\nexport const b = (process: (n: number) => number) => ({ process: process(1) })\n`,
  'src/runtime/catalog/ambient-now.ts': `export const a = () => Date.now()\n`,
  'src/runtime/catalog/ambient-now-value.ts': `export const a = (now = Date.now) => now()\n`,
  'src/runtime/catalog/ambient-now-taken-apart.ts': `const { now } = Date\nexport const a = now\n`,
  'src/runtime/catalog/ambient-new-date.ts': `export const a = () => new Date()\n`,
  'src/runtime/catalog/ambient-random.ts': `export const a = () => Math.random()\n`,
  'src/runtime/catalog/ambient-uuid.ts': `export const a = () => crypto.randomUUID()\n`,
  'src/runtime/catalog/ambient-uuid-global.ts': `export const a = () => globalThis.crypto.randomUUID()\n`,
  'src/runtime/catalog/ambient-process.ts': `export const a = () => process.env.HOME\n`,
  'src/runtime/catalog/ambient-chdir.ts': `export const a = () => process.chdir('/')\n`,
  'src/runtime/catalog/ambient-global-process.ts': `export const a = () => globalThis.process\n`,
  'src/runtime/catalog/ambient-env.ts': `export const a = (env: { KEY: string }) => env.KEY\n`,
  'src/runtime/catalog/ambient-this-env.ts': `export class A {\n  env = { KEY: 'a' }\n  key() {\n    return this.env.KEY\n  }\n}\n`,
  'src/runtime/catalog/ambient-env-taken-apart.ts': `export const a = (env: { KEY: string }) => {\n  const { KEY } = env\n  return KEY\n}\n`,
  'src/runtime/session/ambient-imported-env.ts': `import { env } from 'cloudflare:workers'\nexport const a = env\n`,

  // Submissions.
  'src/runtime/session/types/submission.ts': `export const sessionProtocol = 1\nexport interface SubmitRequest {\n  readonly principal: string\n}\nexport type Receipt = string\n`,
  'src/runtime/session/entry/good-submission.ts': `import { sessionProtocol, type SubmitRequest } from '#runtime/session/types/submission.ts'\nexport const toSubmission = (principal: string): SubmitRequest & object => ({ principal, messages: [], protocol: sessionProtocol })\n`,
  'src/runtime/session/good-submission.ts': `import type { SubmitRequest } from '#runtime/session/types/submission.ts'\nexport const whose = ({ principal }: SubmitRequest) => ({ principal })\n`,
  'src/surfaces/http/good-submission.ts': `import type { Receipt } from '#runtime/session/types/submission.ts'\nexport const a = (work: { submit: () => Receipt }, session: string) => [{ session, messages: [] }, work.submit()]\n`,
  'src/surfaces/http/submission-typed.ts': `import type { SubmitRequest } from '#runtime/session/types/submission.ts'\nexport type A = SubmitRequest\n`,
  'src/surfaces/http/submission-renamed.ts': `import type { SubmitRequest as Other } from '#runtime/session/types/submission.ts'\nexport type A = Other\n`,
  'src/surfaces/http/submission-imported-whole.ts': `import * as all from '#runtime/session/types/submission.ts'\nexport const a = all\n`,
  'src/surfaces/http/submission-exported.ts': `export { sessionProtocol } from '#runtime/session/types/submission.ts'\n`,
  'src/surfaces/http/submission-by-type-query.ts': `export type A = import('#runtime/session/types/submission.ts').SubmitRequest\n`,
  'src/surfaces/http/submission-literal.ts': `export const a = (principal: string) => ({ principal, messages: [] })\n`,
  'src/features/agents/submission-of-a-call.ts': `export const a = (key: string) => ({ 'idempotencyKey': key, messages: [] })\n`,
  'src/runtime/session/waiting/submission-again.ts': `export const a = (principal: string) => ({ principal, messages: ['a'] })\n`,
  'src/runtime/session/submission-protocol.ts': `import { sessionProtocol } from '#runtime/session/types/submission.ts'\nexport const a = sessionProtocol\n`,
  'src/surfaces/http/submission-sent.ts': `export const a = (api: { run: (a: string, b: object) => void }, b: object) => api.run('ses', b)\n`,
  'src/surfaces/http/submission-streamed.ts': `export const a = (api: { runStream: (a: string, b: object) => void }, b: object) => api['runStream']('ses', b)\n`,
  // The way out.
  'src/platform/outbound/network.ts': `export const send = (url: string) => fetch(url)\n`,
  'src/surfaces/http/good-way-out.ts': `// Nobody calls fetch here.\nexport const a = (send: (url: string) => unknown) => ({ sent: send('https://a'), fetched: 1 })\n`,
  'src/surfaces/http/way-out-global.ts': `export const a = () => fetch('https://example.com')\n`,
  'src/surfaces/http/way-out-of-a-global.ts': `export const a = () => globalThis.fetch('https://example.com')\n`,
  'src/surfaces/http/way-out-by-text.ts': `export const a = () => globalThis['fetch']('https://example.com')\n`,
  'src/surfaces/http/way-out-taken-apart.ts': `const { fetch: other } = globalThis\nexport const a = () => other('https://example.com')\n`,
  'src/surfaces/http/way-out-handed-in.ts': `export const a = (deps: { fetch: (url: string) => unknown }) => deps.fetch('https://a')\n`,
  'src/surfaces/http/way-out-handed-on.ts': `const open = (parts: object) => parts\nexport const a = () => open({ fetch })\n`,
  'src/surfaces/http/way-out-stub.ts': `export const a = (stub: Fetcher) => stub.fetch('https://example.com')\n`,
  'src/surfaces/http/way-out-type.ts': `export interface A {\n  readonly network: typeof fetch\n}\n`,
  'src/surfaces/http/way-out-socket.ts': `export const a = () => new WebSocket('wss://example.com')\n`,
  'src/way-out-beside-the-rooms.ts': `export const a = () => fetch('https://example.com')\n`,

  // Rules of oxlint itself, set up by us.
  'src/runtime/catalog/any.ts': `export const a = (value: any): unknown => value\n`,
  'src/runtime/catalog/floating.ts': `const later = async () => 1\nexport const a = () => {\n  later()\n}\n`,
  'src/runtime/catalog/exhaustive.ts': `export const a = (kind: 'one' | 'two') => {\n  switch (kind) {\n    case 'one':\n      return 1\n  }\n  return 2\n}\n`,
  'src/runtime/catalog/console.ts': `export const a = () => console.log('a')\n`,

  // Lengths, comments counted.
  'src/runtime/catalog/long-enough.ts': `${functionOf(120)}${'// one line\n'.repeat(180)}`,
  'src/runtime/catalog/long-function.ts': functionOf(121),
  'src/runtime/catalog/long-file.ts': fileOf(301),
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
      if (severity !== 'error' && !code.startsWith('eslint(max-lines')) continue
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
      'src/runtime/kernel/good.ts',
      'src/runtime/kernel/good-leases.ts',
      'src/surfaces/http/openai/deep/good.ts',
      'src/runtime/session/good.ts',
      'src/features/schedules/good.ts',
      'src/surfaces/http/good-mount.ts',
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
      'src/runtime/session/storage/rows.ts',
      'src/runtime/session/runs/deep/queue.ts',
      'src/runtime/session/upkeep/timer.ts',
      'src/runtime/session/root.ts',
      'src/features/plugins/tools/late.ts',
      'src/surfaces/http/openai/up.ts',
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
    expect(refusals('src/features/plugins/types/plugin.ts')).toContain('rooms(imports)')
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
      'src/platform/d1/cycle-a.ts',
      'src/platform/d1/cycle-b.ts',
      'src/contracts/cycle-d.ts',
      'src/contracts/cycle-e.ts',
    ]
    for (const path of cyclic) expect(refusals(path)).toContain('import(no-cycle)')
    expect(refusals('src/platform/d1/cycle-by-hash.ts')).toEqual([])
  })

  it.each(
    Object.keys(fixtures).filter(
      (path) => path.includes('/origin-') && !path.startsWith('src/features/'),
    ),
  )(
    "N1, N3, N11, E3: a kernel or session file that names a tool's origin is refused (%s)",
    (path) => expect(refusals(path)).toContain('rooms(no-origin)'),
  )

  it('N3: comments and other rooms may name an origin', () => {
    expect(refusals('src/runtime/kernel/good-origin.ts')).toEqual([])
    expect(refusals('src/features/access/origin-elsewhere.ts')).toEqual([])
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
    expect(refusals('src/platform/outbound/network.ts')).toEqual([])
    expect(refusals('src/surfaces/http/good-way-out.ts')).toEqual([])
  })

  it('T5: each excepted file has a `fetch` that is no way out', () => {
    const without = Object.keys(otherFetches).filter(
      (path) => !/\bfetch\b/.test(readFileSync(join(root, path), 'utf8')),
    )
    expect(without).toEqual([])
  })

  it('Y1: each import that the table of the house still excepts is needed', () => {
    const excepted = Object.entries(notYet).flatMap(([from, targets]) =>
      targets.map((to) => [from, to] as const),
    )
    const isNeeded = ([from, to]: readonly [string, string]) => {
      const source = readFileSync(join(root, 'src', from), 'utf8')
      return source.includes(`#${to}'`) && againstHouse(from, to, {}) !== undefined
    }
    expect(excepted.filter((pair) => !isNeeded(pair))).toEqual([])
  })

  it('N4: a room that works on what it was given passes', () => {
    expect(refusals('src/runtime/catalog/good-ambient.ts')).toEqual([])
  })

  it('N11: process.env is refused in a room by oxlint itself too', () => {
    expect(refusals('src/runtime/catalog/ambient-process.ts')).toContain('node(no-process-env)')
  })

  it.each(Object.keys(fixtures).filter((path) => path.includes('/submission-')))(
    'A submission that is built or handed over beside the one way in is refused (%s)',
    (path) => expect(refusals(path)).toEqual(['rooms(one-submission)']),
  )

  it('the one way in builds submissions, a session takes them, and a surface asks for them', () => {
    const good = ['runtime/session/entry/', 'runtime/session/', 'surfaces/http/'].map(
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
    expect(refusals(`src/runtime/catalog/${name}.ts`)).toContain(rule)
  })

  it('warns of a function over 120 lines and a file over 300, but not of data and generated files', () => {
    expect(refusals('src/runtime/catalog/long-function.ts')).toEqual([
      'eslint(max-lines-per-function)',
    ])
    expect(refusals('src/runtime/catalog/long-file.ts')).toEqual(['eslint(max-lines)'])
    for (const path of [
      'runtime/catalog/long-enough.ts',
      'platform/models/price-data.ts',
      'bundled.gen.ts',
    ])
      expect(refusals(`src/${path}`)).toEqual([])
  })
})
