// isola plugin test: the folder's tests and the battery, in both hosts, where they reach nothing of this machine.
import { existsSync, readdirSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { root } from '../scripts/toolchain.mjs'
import { authorFiles } from './author-files.ts'
import { buildFolder, bundleModule, esbuild, pluginApi, withModules } from './plugin-build.ts'
import type { Telling } from './command.ts'
import { runAlone } from './sandbox.ts'
import type { BuiltPlugin } from './plugin-build.ts'

/** The outcome of one test. */
interface TestOutcome {
  readonly name: string
  readonly state: string
  readonly errors: readonly {
    readonly message: string
    readonly diff?: string
    readonly stack?: string
  }[]
}

/** Of what tests log, in each host. */
const maxLines = 1_000
const maxLineChars = 2_000
/** Of all tests in one host; a single one has a minute. */
const timeoutMs = 600_000

/** The tests as one module. */
async function bundleTests(folder: string) {
  const contents = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((name) => `import ${JSON.stringify(`./${name}`)}`)
    .join('\n')
  const { code } = await bundleModule(folder, {
    stdin: { contents, resolveDir: folder, loader: 'ts' },
    external: ['vitest', 'isola/testing'],
    sourcemap: 'inline',
    sourcesContent: false,
  })
  return code
}

/** A file of ours, with the plugin and its tests where it imports them: one module, and the map of its lines. */
async function bundleOurs(entry: string, texts: Readonly<Record<string, string>>) {
  const ours = {
    ...pluginApi,
    'isola/testing': authorFiles['isola/testing'],
    vitest: authorFiles.vitest,
  }
  const { outputFiles } = await esbuild().build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: 'worker.js',
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['cloudflare:*', 'node:*'],
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
    plugins: [withModules(texts, ours)],
  })
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  return { code: textOf('.js'), map: new SourceMap(JSON.parse(textOf('.js.map'))) }
}

/** The tests in one host. */
async function runIn(
  host: string,
  { bundle, hash, tests }: Pick<BuiltPlugin, 'bundle' | 'hash'> & { readonly tests: string },
) {
  const texts = {
    'under-test:plugin': `export const host = ${JSON.stringify(host)}
      export const bundle = ${JSON.stringify(bundle)}
      export const hash = ${JSON.stringify(hash)}`,
    'under-test:code': bundle.code ?? 'export default undefined',
    'under-test:tests': tests,
  }
  const { code, map } = await bundleOurs(authorFiles.worker, texts)
  const beside = await bundleOurs(authorFiles.host, texts)
  const lines: string[] = []
  const onLine = (line: string) =>
    void (lines.length < maxLines && lines.push(line.slice(0, maxLineChars)))
  const answer = await runAlone(code, { host: beside.code, onLine, timeoutMs })
  // vitest colours a difference for its own terminal: neither this output nor --json has those colours.
  const outcomes: readonly TestOutcome[] = JSON.parse(answer, (_key, value: unknown) =>
    typeof value === 'string' ? stripVTControlCharacters(value) : value,
  )
  return { map, lines, outcomes }
}

/** Where in the tests or the code an error comes from; our own lines are left out. */
function placesOf(stack: string, map: SourceMap) {
  return [...stack.matchAll(/main\.js:(\d+):(\d+)/g)]
    .map(([, line, column]) => map.findEntry(Number(line) - 1, Number(column) - 1))
    .filter((place) => 'originalSource' in place)
    .filter(({ originalSource: source }) => source && !existsSync(join(root, source)))
    .map(
      ({ originalSource, originalLine, originalColumn }) =>
        `${originalSource}:${originalLine + 1}:${originalColumn + 1}`,
    )
}

const marks: Readonly<Record<string, string>> = { pass: '✓', fail: '✗', skip: '-', todo: '-' }

function told({ name, state, errors }: TestOutcome, map: SourceMap) {
  const lines = errors.flatMap(({ message, diff, stack = '' }) => [
    `    ${message}`,
    ...(diff ? [diff.replace(/^/gm, '    ')] : []),
    ...placesOf(stack, map)
      .slice(0, 5)
      .map((place) => `    at ${place}`),
  ])
  return [`  ${marks[state] ?? '?'} ${name}`, ...lines].join('\n')
}

/** @returns The exit code. Faults of the folder itself are printed before anything starts. */
export async function testFolder(given: string, { print, isJson }: Telling): Promise<number> {
  const folder = resolve(given)
  const { bundle, hash } = await buildFolder(folder)
  const tests = await bundleTests(folder)
  const results: Record<string, readonly TestOutcome[]> = {}
  for (const host of ['in-process', 'isolate']) {
    const { map, lines, outcomes } = await runIn(host, { bundle, hash, tests })
    results[host] = outcomes
    const text = [
      host,
      ...lines.map((line) => `  | ${line}`),
      ...outcomes.map((one) => told(one, map)),
    ]
    if (!isJson) print(outcomes, text.join('\n'))
  }
  const all = Object.values(results).flat()
  const failed = all.filter(({ state, errors }) => state === 'fail' || errors.length > 0).length
  print(results, failed === 0 ? 'Every test passes in both hosts.' : `${failed} failed.`)
  return failed === 0 ? 0 : 1
}
