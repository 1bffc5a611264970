// Settings: what the Worker would refuse, asked of the Worker's own code, and lines of .dev.vars that set nothing.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseVars, passedOn, readVarsText } from '../../scripts/dev-vars.mjs'
import { root } from '../../scripts/toolchain.mjs'
import { near } from '../usage.ts'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import type { Env } from '../command.ts'

const namesIn = (path: string) => Object.keys(parseVars(readFileSync(join(root, path), 'utf8')))

/** Every setting that the Worker knows; the same two files fix the type of its environment. */
const knownSettings = (): string[] =>
  ['.dev.vars.example', 'scripts/settings.vars'].flatMap(namesIn)

const isLine = /^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=/
const isNothing = /^\s*(#.*)?$/
const fix = 'Correct the line in .dev.vars, or take it out.'

/** Lines that are none, by their number: what they hold may be a key. A name that is none of ours may be the key of a model server. */
function checkLines(text: string, vars: Readonly<Record<string, string>>): Finding[] {
  const known = knownSettings()
  const broken = text
    .split(/\r?\n/)
    .flatMap((line, index) => (isLine.test(line) || isNothing.test(line) ? [] : [index + 1]))
  const foreign = Object.keys(vars).filter(
    (name) =>
      /^(ISOLA|OPENAI)_/.test(name) &&
      !known.includes(name) &&
      !vars['ISOLA_PROVIDERS']?.includes(name),
  )
  return [
    ...broken.map((line) =>
      warn('settings', `Line ${line} of .dev.vars is no NAME=value: it sets nothing.`, { fix }),
    ),
    ...foreign.map((name) => {
      const [meant] = near(name, known)
      const hint = meant ? ` Did you mean ${meant}?` : ''
      return warn('settings', `${name} in .dev.vars is no setting: nothing reads it.${hint}`, {
        fix,
      })
    }),
  ]
}

/** The first thing that the Worker would refuse, if there is one. */
async function checkValues(settings: Readonly<Record<string, string>>): Promise<Finding> {
  // By the Node of `npm run isola`, which reads TypeScript.
  const { parseConfig } = await import('../../src/compose/settings.ts')
  const { problem } = parseConfig(settings)
  if (!problem) return ok('settings', 'The Worker takes the settings.')
  return fail('settings', `The Worker refuses every request: ${problem.message}`, {
    fix: 'Correct it in .dev.vars, or in the shell if it is set there.',
  })
}

export async function checkSettings({
  env,
  path = join(root, '.dev.vars'),
}: {
  readonly env: Env
  readonly path?: string
}): Promise<Finding[]> {
  let text
  try {
    text = readVarsText(path)
  } catch {
    return [] // said by `variables`
  }
  if (text === undefined) return []
  const vars = parseVars(text)
  // The shell wins, as for `npm start`.
  const shell = passedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))
  return [...checkLines(text, vars), await checkValues({ ...vars, ...Object.fromEntries(shell) })]
}
