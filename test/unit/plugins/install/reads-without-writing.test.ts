import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { unstable_readConfig as readConfig } from 'wrangler'

const root = join(import.meta.dirname, '../../../..')

type Read = (text: string) => unknown

/** `readYaml` as the Worker has it: with, or without, what `[alias]` in wrangler.toml leaves out of `yaml`. */
async function bundled(alias: Readonly<Record<string, string>>): Promise<Read> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/plugins/install/read-yaml.ts')],
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    write: false,
    plugins: [
      {
        name: 'alias',
        setup: (builder) =>
          builder.onResolve({ filter: /./ }, ({ path }) =>
            alias[path] === undefined ? undefined : { path: join(root, alias[path]) },
          ),
      },
    ],
  })
  const code = outputFiles[0]!.text
  const module = await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)
  return module.readYaml
}

/** What comes of a text: its value, or why it is refused. */
function answer(read: Read, text: string): unknown {
  try {
    return { value: read(text) }
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return { code, message }
  }
}

const manifests = readdirSync(join(root, 'plugins')).map((id) =>
  readFileSync(join(root, 'plugins', id, 'plugin.yaml'), 'utf8'),
)

/** Every kind of node, and everything that is refused at some step of reading. */
const texts = [
  'a: 1\nb: -0x1F\nc: 0o17\nd: 1.5e3\ne: .inf\nf: .NaN\ng: true\nh: ~\ni: "q\\u0041"\nj: \'s\'\n',
  'a: |\n  block\n  text\nb: >-\n  folded\n  text\nc: [1, [2], {d: e}]\n? f\n: g\n',
  'a: &x {b: 1}\nc: *x\nd: [*x, *x]\n',
  'a: !!str 1\nb: !!int "2"\nc: !!binary aGk=\nd: !!set {x}\ne: !!timestamp 2026-01-01\n',
  '2026-01-01: a\n1: b\n[x, y]: c\n{z: 1}: d\n',
  '? [a, b]\n: c\n',
  '&k key: 1\n*k : 2\n',
  '!!map {1: 2}\n',
  '%YAML 1.1\n---\na: yes\nb: 0777\nc: 1:30\n',
  '%YAML 1.1\n---\na: !!omap [b: 1]\nc: !!pairs [d: 1]\n<<: {e: 1}\n',
  '%TAG ! tag:example.com,2026:\n---\na: !b c\n',
  'a: !own b\n',
  'a: 1\na: 2\n',
  'a: *nothing\n',
  'a: &a [*a]\n',
  'a: "unclosed\n',
  'a: [1\n',
  'a: b: c\n',
  '\ta: 1\n',
  'a\n---\nb\n',
  '',
  '# only a comment\n',
  '__proto__: 1\n',
  `a: &a [1,1]\n${Array.from({ length: 30 }, (_, at) => `b${at}: &b${at} [*${at ? `b${at - 1}` : 'a'}, *a]\n`).join('')}`,
]

test('a manifest is read, or refused, the same without the half of yaml that writes', async () => {
  const { alias = {} } = readConfig({ config: join(root, 'wrangler.toml') })
  const left = Object.keys(alias).filter((path) => alias[path] === './src/yaml-shims.ts')
  expect(left.length).toBeGreaterThan(0)
  const [whole, reading] = await Promise.all([bundled({}), bundled(alias)])
  expect(manifests.every((text) => 'value' in (answer(reading, text) as object))).toBe(true)
  for (const text of [...manifests, ...texts])
    expect(answer(reading, text), text).toEqual(answer(whole, text))
})
