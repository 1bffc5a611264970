// `npm run isola deploy --dry-run`: without `--` npm keeps the flag for itself, and what was to be a rehearsal is not
// one.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/toolchain.mjs'
import type { Env } from './command.ts'
import type { Options } from './options.ts'
import { UsageError } from './options.ts'

function textOf(path: string) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Names that a person's or a machine's .npmrc sets: npm passes on those too, though no person typed them. */
function configured(env: Env) {
  const paths = [env['npm_config_userconfig'], env['npm_config_globalconfig'], join(root, '.npmrc')]
  const text = paths.map((path) => (path ? textOf(path) : '')).join('\n')
  return new Set([...text.matchAll(/^[ \t]*([\w-]+)[ \t]*=/gm)].map(([, name]) => name))
}

const given = (argv: readonly string[], name: string) =>
  argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`))

/** Throws with the right spelling where npm kept options of the command. They reach a script as `npm_config_<name>`. */
export function refuseKeptByNpm(
  argv: readonly string[],
  { options, env }: { readonly options: Options; readonly env: Env },
) {
  // `npx` and other programs that run npm scripts pass on what they were given.
  if (env['npm_lifecycle_event'] !== 'isola') return
  const set = configured(env)
  const kept = Object.keys(options).filter(
    (name) =>
      env[`npm_config_${name.replaceAll('-', '_')}`] &&
      env[`NPM_CONFIG_${name.replaceAll('-', '_').toUpperCase()}`] === undefined &&
      !set.has(name) &&
      !given(argv, name),
  )
  if (kept.length === 0) return
  const flags = kept.map((name) => `--${name}`)
  // Whose value npm took for a word of its own: where it belongs cannot be told.
  const isWhole = kept.every((name) => options[name]?.type === 'boolean')
  const words = isWhole ? [...argv, ...flags] : ['<command>', '…', ...flags]
  const settings = kept.map((name) => `npm_config_${name.replaceAll('-', '_')}`)
  throw new UsageError(
    `Nothing was done: npm kept ${flags.join(', ')} for itself. Write -- in front of the command: npm run ` +
      `isola -- ${words.join(' ')}\n` +
      `(If you typed no such thing, your environment sets ${settings.join(', ')}.)`,
  )
}
