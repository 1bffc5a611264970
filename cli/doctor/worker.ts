// Checks wrangler.toml against the code, and the generated list of plugins.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isCurrent, update } from '../../scripts/generate.mjs'
import { root } from '../../scripts/toolchain.mjs'
import { readConfig, type Config } from '../deploy/tenant.ts'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import { messageOf } from '../text.ts'

/** From here on an error keeps its name, code and cause across RPC. */
const oldestDate = '2026-04-21'
const neededFlags = ['nodejs_compat', 'enable_request_signal']

const source = (name: string) => readFileSync(join(root, 'src', name), 'utf8')

/** Names that the configuration binds. */
function boundIn(config: Config): Set<string> {
  const entries: readonly { readonly binding?: string; readonly name?: string }[] = [
    config.durable_objects?.bindings,
    Object(config['queues']).producers,
    ...Object.values(config).filter(Array.isArray),
    ...['ai', 'browser', 'assets'].map((name) => config[name]),
  ].flatMap((list) => list ?? [])
  return new Set(entries.flatMap(({ binding, name }) => binding ?? name ?? []))
}

/** Bindings that the composition reads without asking whether they are there; settings are none. */
export const bindingsIn = (code: string): string[] => [
  ...new Set(
    [...code.matchAll(/\benv\.(?!ISOLA_|OPENAI_)([A-Z][A-Z0-9_]*)\b(?!\s*(?:\?|&&))/g)].map(
      ([, name = '']) => name,
    ),
  ),
]
const classesIn = (code: string) =>
  [...code.matchAll(/^export class (\w+)/gm)].map(([, name]) => name)

/** Findings about bindings, classes and flags that the code needs and wrangler.toml lacks. */
export function checkConfig(
  config: Config,
  { composition, index }: { readonly composition: string; readonly index: string },
): Finding[] {
  const bound = boundIn(config)
  const needed = bindingsIn(composition)
  const exported = classesIn(index)
  const migrated = new Set(
    (config.migrations ?? []).flatMap((step) => [
      ...(step.new_sqlite_classes ?? []),
      ...(step.renamed_classes ?? []).map(({ to }) => to),
    ]),
  )
  const classes = (config.durable_objects?.bindings ?? []).map(({ class_name: name }) => name)
  const problems = [
    ...needed
      .filter((name) => !bound.has(name))
      .map((name) => `does not bind ${name}, which the code reads`),
    ...classes
      .filter((name) => !exported.includes(name))
      .map((name) => `binds ${name}, which src/index.ts does not export`),
    ...classes
      .filter((name) => !migrated.has(name))
      .map((name) => `binds ${name} without a migration that makes it`),
    ...neededFlags
      .filter((flag) => !config.compatibility_flags?.includes(flag))
      .map((flag) => `lacks the compatibility flag ${flag}`),
  ]
  const date = config.compatibility_date ?? ''
  if (!(date >= oldestDate))
    problems.push(`has the compatibility date ${date || 'none'}: ${oldestDate} or later is needed`)
  const fix = 'Compare wrangler.toml with the one of this version (git diff).'
  if (problems.length > 0)
    return problems.map((what) => fail('configuration', `wrangler.toml ${what}.`, { fix }))
  const names = needed.join(', ')
  return [ok('configuration', `wrangler.toml binds ${names}; compatibility date ${date}.`)]
}

export async function checkWorker(): Promise<Finding[]> {
  const composition = ['compose/composition-base.ts', 'compose/composition.ts']
    .map(source)
    .join('\n')
  const files = { composition, index: source('index.ts') }
  const findings = checkConfig(await readConfig(), files)
  try {
    const stale = { fix: 'Run `npm run generate`.', repair: update }
    const finding = isCurrent()
      ? ok('plugins', 'src/bundled.gen.ts is what plugins/ holds.')
      : warn('plugins', 'src/bundled.gen.ts is not what plugins/ holds.', stale)
    return [...findings, finding]
  } catch (error) {
    return [...findings, fail('plugins', messageOf(error), { fix: 'Correct the manifest.' })]
  }
}
