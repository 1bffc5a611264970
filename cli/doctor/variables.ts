// .dev.vars: there, complete, and with values that are values.

import { readFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseVars, passedOn, readVarsText, ensureVars } from '../../scripts/dev-vars.mjs'
import { root } from '../../scripts/toolchain.mjs'
import { near } from '../options.ts'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import type { Env } from '../command.ts'
import { readVars } from '../connection.ts'
import { messageOf } from '../text.ts'

// Settings: what the Worker would refuse, asked of the Worker's own code, and lines of .dev.vars that set nothing.

const namesIn = (path: string) => Object.keys(parseVars(readFileSync(join(root, path), 'utf8')))

/** Every setting that the Worker knows; the same two files fix the type of its environment. */
const knownSettings = (): string[] =>
  ['.dev.vars.example', 'scripts/settings.vars'].flatMap(namesIn)

const isLine = /^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=/
const isNothing = /^\s*(#.*)?$/
const fix = 'Correct the line in .dev.vars, or take it out.'

/**
 * Lines that are none, by their number: what they hold may be a key. A name that is none of ours may be the key of a
 * model server.
 */
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
    ...broken.map((line) => `Line ${line} of .dev.vars is no NAME=value: it sets nothing.`),
    ...foreign.map((name) => {
      const [meant] = near(name, known)
      const hint = meant ? ` Did you mean ${meant}?` : ''
      return `${name} in .dev.vars is no setting: nothing reads it.${hint}`
    }),
  ].map((what) => warn('settings', what, { fix }))
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

const minKeyChars = 20
const placeholder =
  /^(<.*>|\.+|…|isk_…|x+|(your|my|change|replace|example|secret|password|test|todo)\b.*)$/i

/** Why a value is none that protects anything, or undefined. */
export function weakness(name: string, value: string): string | undefined {
  if (placeholder.test(value)) return 'is a placeholder'
  if (name === 'ISOLA_OPERATOR_KEY' && value.length < minKeyChars)
    return `is shorter than ${minKeyChars} characters`
  if (name.startsWith('ISOLA_MASTER_KEY') && Buffer.from(value, 'base64').length !== 32)
    return 'is not 32 bytes as base64'
  return undefined
}

/** One secret of the file. A value is not replaced: data may be encrypted with it, or a program may use it. */
function checkSecret(name: string, value: string | undefined, repair: () => void): Finding {
  if (!value) {
    const fix = 'Run `isola doctor --fix`, or `npm start`: both make one.'
    return fail('variables', `${name} is missing in .dev.vars.`, { fix, repair })
  }
  const why = weakness(name, value)
  const fix = `Take the line out of .dev.vars and run \`isola doctor --fix\`, which makes a new one.`
  return why ? fail('variables', `${name} ${why}.`, { fix }) : ok('variables', `${name} is set.`)
}

export function checkVariables({ path = join(root, '.dev.vars') } = {}): Finding[] {
  const repair = () => void ensureVars(path)
  if (!existsSync(path)) {
    const fix = 'Run `isola doctor --fix`, or `npm start`: both make it.'
    const what = 'There is no .dev.vars, which holds the keys of the local server.'
    return [fail('variables', what, { fix, repair })]
  }
  let vars
  try {
    vars = readVars(path)
  } catch (error) {
    // The command neither moves the file nor changes its mode: a person put it there.
    const fix = 'Put it right, then run `isola doctor --fix`.'
    return [fail('variables', messageOf(error), { fix })]
  }
  const { ISOLA_MASTER_KEY_PREVIOUS: previous, ISOLA_ENV: kind } = vars
  return [
    ...['ISOLA_OPERATOR_KEY', 'ISOLA_MASTER_KEY'].map((name) =>
      checkSecret(name, vars[name], repair),
    ),
    previous &&
      weakness('ISOLA_MASTER_KEY_PREVIOUS', previous) &&
      fail('variables', 'ISOLA_MASTER_KEY_PREVIOUS is not 32 bytes as base64.', {
        fix: 'Set the key that was ISOLA_MASTER_KEY before, or remove the line.',
      }),
    kind !== 'development' &&
      warn(
        'variables',
        `ISOLA_ENV is ${kind || 'not set'}: no offline model, no requests to this machine.`,
        {
          fix: 'For local work set ISOLA_ENV=development in .dev.vars.',
          ...(!kind && { repair }),
        },
      ),
    // Windows has no such bits.
    process.platform !== 'win32' &&
      (statSync(path).mode & 0o077) !== 0 &&
      warn('variables', 'Others on this machine can read .dev.vars.', {
        fix: 'chmod 600 .dev.vars',
      }),
  ].flatMap((finding) => finding || [])
}
