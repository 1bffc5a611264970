// .dev.vars: there, complete, and with values that are values.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ensureVars } from '../../scripts/dev-vars.mjs'
import { root } from '../../scripts/toolchain.mjs'
import { readVars } from '../connection.ts'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import { messageOf } from '../text.ts'

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
    return [
      fail('variables', 'There is no .dev.vars, which holds the keys of the local server.', {
        fix,
        repair,
      }),
    ]
  }
  let vars
  try {
    vars = readVars(path)
  } catch (error) {
    // The command neither moves the file nor changes its mode: a person put it there.
    const fix = 'Put it right, then run `isola doctor --fix`.'
    return [fail('variables', messageOf(error), { fix })]
  }
  const findings = ['ISOLA_OPERATOR_KEY', 'ISOLA_MASTER_KEY'].map((name) =>
    checkSecret(name, vars[name], repair),
  )
  const previous = vars['ISOLA_MASTER_KEY_PREVIOUS']
  if (previous && weakness('ISOLA_MASTER_KEY_PREVIOUS', previous))
    findings.push(
      fail('variables', 'ISOLA_MASTER_KEY_PREVIOUS is not 32 bytes as base64.', {
        fix: 'Set the key that was ISOLA_MASTER_KEY before, or remove the line.',
      }),
    )
  if (vars['ISOLA_ENV'] !== 'development') {
    const what = `ISOLA_ENV is ${vars['ISOLA_ENV'] || 'not set'}: no offline model, no requests to this machine.`
    const fix = 'For local work set ISOLA_ENV=development in .dev.vars.'
    findings.push(warn('variables', what, { fix, ...(!vars['ISOLA_ENV'] && { repair }) }))
  }
  // Windows has no such bits.
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    findings.push(
      warn('variables', 'Others on this machine can read .dev.vars.', {
        fix: 'chmod 600 .dev.vars',
      }),
    )
  return findings
}
