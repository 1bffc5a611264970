import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')

interface Source {
  readonly path: string
  /** Without comments, which may say what they like. */
  readonly code: string
}

function sourcesUnder(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({
        path: relative(root, path),
        code: withoutComments(readFileSync(path, 'utf8')),
      })),
  )
}

/** Strings and templates are passed over whole, so that a `//` inside one is no comment. */
function withoutComments(text: string): string {
  const token =
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|\\\/|\/\*[^]*?\*\/|\/\/[^\n]*/g
  return text.replace(token, (found) => (/^\/[/*]/.test(found) ? ' ' : found))
}

const found = (sources: readonly Source[], pattern: RegExp) =>
  sources.flatMap(({ path, code }) =>
    [...code.matchAll(pattern)].map(([text]) => `${path}: ${text}`),
  )

/** `isSubAgent`, `sub_agent` and `SubAgent` are the same three words. */
const wordsOf = (code: string) =>
  (code.match(/[A-Za-z_$][\w$]*/g) ?? []).map((token) =>
    token
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .replace(/^_+|_+$/g, ''),
  )

const origins =
  /(?:^|_)(?:origin|sub_?agents?|mcp|plugins?|builtin|built_in|community|trusted|tier|remote_agent|human|a2a)(?:_|$)/

/** Rooms: what a session or a provider runs in. */
const rooms = ['client', 'platform', 'runtime', 'features', 'surfaces'].map((name) => `src/${name}`)

describe('the loop and its sessions', () => {
  // Types of events and requests name the fields of their wire; what decides by them is not among them.
  const sources = sourcesUnder('src/runtime/kernel', 'src/runtime/session').filter(
    ({ path }) => !/\/(?:types|requests)\//.test(path),
  )

  it('E3, N3, N11: name no origin of a tool in any token', () => {
    const named = sources.flatMap(({ path, code }) =>
      wordsOf(code)
        .filter((word) => origins.test(word))
        .map((word) => `${path}: ${word}`),
    )
    expect(sources.length).toBeGreaterThan(15)
    expect(named).toEqual([])
  })

  it.each([
    'if (tool.origin === 1) go()',
    'const isSubAgent = true',
    "switch (entry.record['tier']) {}",
    "const kind = 'mcp'",
    'trust_tier',
    'entry.fromPlugin',
  ])('E3: the scan sees an origin in %j', (code) => {
    expect(wordsOf(code).some((word) => origins.test(word))).toBe(true)
  })

  it('I1: the kernel and leases need nothing but the contracts, so that it can be embedded anywhere', () => {
    const own = sourcesUnder('src/runtime/kernel').filter(({ path }) => !path.includes('/types/'))
    const imports = own.flatMap(({ code }) =>
      [...code.matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g)].map(([, a, b]) => a ?? b),
    )
    expect(imports.length).toBeGreaterThan(20)
    expect(imports.filter((name) => !/^(#contracts\/|\.{1,2}\/)/.test(name ?? ''))).toEqual([])
    const beneath = sourcesUnder('src/contracts').flatMap(({ code }) =>
      [...code.matchAll(/\bfrom '([^']+)'/g)].map(([, name]) => name),
    )
    // Imports of the API's contracts cross folders, one or two up. croner decides what a cron expression is, for manifests
    // too; neither the kernel nor the leases reach it.
    expect(
      beneath.filter(
        (name) => !/^(#contracts\/|\.\/|(\.\.\/){1,2}[\w/-]+\.ts$|zod$|croner$)/.test(name ?? ''),
      ),
    ).toEqual([])
  })
})

describe('everything that runs in a session', () => {
  const sources = sourcesUnder(...rooms, 'plugins')

  it('N4, N11: never changes a directory and never reads the environment of a process', () => {
    expect(found(sources, /\bprocess\b\s*[.[]\s*['"`]?(?:chdir|cwd|env)\b|\bchdir\s*\(/g)).toEqual(
      [],
    )
    expect(found(sources, /from '(?:node:)?process'/g)).toEqual([])
  })

  it('X5: reads no binding and no setting out of the Worker env', () => {
    expect(found(sources, /\benv\s*(?:\.|\[|!\.)\s*\w+/g)).toEqual([])
    expect(found(sources, /import\s*\{[^}]*\benv\b[^}]*\}\s*from 'cloudflare:workers'/g)).toEqual(
      [],
    )
    expect(found(sources, /import\.meta\.env/g)).toEqual([])
  })

  it('N5: keeps nothing at the top of a module that a call could change', () => {
    expect(found(sources, /^(?:export )?(?:let|var) .*/gm)).toEqual([])
    // A collection at the top of a module is a table: typed so that no code can add to it.
    const collections = found(
      sources,
      /^(?:export )?const \w+(?!.*\bReadonly(?:Map|Set)\b).*= new (?:Map|Set|WeakMap|WeakSet)\b.*/gm,
    )
    const changed = collections.filter((line) => {
      const [, path, name] = /^(.*?): (?:export )?const (\w+)/.exec(line) ?? []
      const code = sources.find((source) => source.path === path)?.code ?? ''
      return new RegExp(`\\b${name}\\.(?:set|add|delete|clear)\\(`).test(code)
    })
    expect(changed).toEqual([])
  })
})

describe('isolates', () => {
  const sources = sourcesUnder('src').filter(({ path }) => !path.endsWith('.gen.ts'))

  it('T5, F26: one place builds a WorkerCode and uses the Worker Loader', () => {
    const uses = found(
      sources,
      /\bLOADER\b|\bWorkerLoader\w*|\bworker_loaders\b|\bglobalOutbound\b|\bloader\s*\.\s*(?:get|load)\b|\bcompatibilityFlags\b/g,
    )
    const factory = 'src/features/plugins/sandbox/worker-code.ts'
    // The composition hands the binding on; the loader's message to the operator names it.
    expect(uses.filter((use) => !use.startsWith(factory))).toEqual([
      'src/compose/composition.ts: LOADER',
      'src/features/plugins/loading/in-process-host.ts: worker_loaders',
      'src/features/plugins/loading/in-process-host.ts: LOADER',
    ])
    const calls = uses.filter((use) => /loader\s*\.\s*(?:get|load)$/.test(use))
    // By id: plugins. Freed after one use: our own code that reads archives, and code that a model wrote.
    expect(
      calls
        .map((use) => use.replace(/\s*\.\s*(?=\w+$)/, '.'))
        .map((use) => use.replace(/^.*: /, '')),
    ).toEqual(['loader.get', 'loader.load', 'loader.load'])
    expect(calls.every((use) => use.startsWith(factory))).toBe(true)
  })

  it('T5, T6: what it builds has no binding, no network, no other flag, and limits', () => {
    const { code } = sources.find(
      ({ path }) => path === 'src/features/plugins/sandbox/worker-code.ts',
    )!
    expect(code).toMatch(/\n {4}env: \{\},\n {4}globalOutbound: null,\n/)
    expect(code).toMatch(/compatibilityFlags: \['nodejs_als'\],/)
    expect(code).toMatch(/compatibilityDate: '\d{4}-\d{2}-\d{2}',/)
    expect(code).toMatch(/limits: \{ cpuMs: [\d_]+, subRequests: [\d_]+ \},/)
    expect(code).toMatch(/limits: \{ \.\.\.isolateSettings\.limits \},/)
  })

  it('T8: the Runner has one method, since each of its methods is public', () => {
    const { code } = sources.find(
      ({ path }) => path === 'src/features/plugins/sandbox/plugin-runner.ts',
    )!
    expect([...code.matchAll(/^ {4}(?:async )?(\w+)\(/gm)].map(([, name]) => name)).toEqual(['run'])
  })
})
