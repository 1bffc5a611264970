// .dev.vars: made once, completed when something is missing, never rewritten.
import { randomBytes } from 'node:crypto'
import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

/** Secrets that every deployment has, each with how one is made. */
export const newSecrets = {
  ISOLA_OPERATOR_KEY: () => `isk_${randomBytes(24).toString('base64url')}`,
  ISOLA_MASTER_KEY: () => randomBytes(32).toString('base64'),
}
const needed = { ...newSecrets, ISOLA_ENV: () => 'development' }

/** The variables of a .dev.vars file: `NAME=value` lines, quotes taken off, comments left out. */
export function parseVars(text) {
  const vars = {}
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/.exec(line)
    if (!match) continue
    const quoted = /^(['"`])(.*)\1(?:\s+#.*)?$/.exec(match[2])
    vars[match[1]] = quoted ? quoted[2] : match[2].replace(/\s*#.*$/, '')
  }
  return vars
}

/**
 * Makes sure the file has a value for each variable a local server needs.
 * @returns The file's variables, whether it was created, and the names that were added to an existing file.
 */
export function ensureVars(path) {
  const created = !existsSync(path)
  if (created) {
    const header = '# Made by `npm start`. Local secrets: keep this file out of git.\n'
    writeFileSync(path, header, { mode: 0o600 })
  }
  const text = readFileSync(path, 'utf8')
  const vars = parseVars(text)
  const added = Object.keys(needed).filter((name) => !vars[name])
  if (added.length > 0) {
    const lines = added.map((name) => `${name}=${(vars[name] = needed[name]())}\n`)
    appendFileSync(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('')}`)
    chmodSync(path, 0o600)
  }
  return { vars, created, added: created ? [] : added }
}
