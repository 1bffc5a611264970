// .dev.vars: made once, completed when something is missing, never rewritten.
import { randomBytes } from 'node:crypto'
import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
// Whole: an older Node has no parseEnv, and would only say so of the import.
import util from 'node:util'

/** Secrets that every deployment has, each with how one is made. */
export const newSecrets = {
  ISOLA_OPERATOR_KEY: () => `isk_${randomBytes(24).toString('base64url')}`,
  ISOLA_MASTER_KEY: () => randomBytes(32).toString('base64'),
}
const needed = { ...newSecrets, ISOLA_ENV: () => 'development' }

/** Settings that `npm start` takes from the shell, where they win over the file. */
export const passedOn = [
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'ISOLA_MODEL',
  'ISOLA_PROVIDERS',
  'ISOLA_PRICES',
  'ISOLA_DAILY_TOKENS',
  'ISOLA_DAILY_COST_USD',
  'ISOLA_ISOLATE_PRICE_USD',
  'ISOLA_SHARED_ISOLATES',
  'ISOLA_KEEP_DAYS',
  'ISOLA_KEEP_AUDIT_DAYS',
  'ISOLA_KEEP_USAGE_DAYS',
  'ISOLA_KEEP_VERSIONS_DAYS',
  'ISOLA_KEEP_DRAFT_DAYS',
  'ISOLA_AUTHOR_VERSIONS',
  'ISOLA_AUTHOR_MIB',
  'ISOLA_AUTHOR_ADDS_PER_HOUR',
  'ISOLA_SQL_DATABASES',
  'ISOLA_HOSTS',
  'ISOLA_LOG',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_SERVICE_NAME',
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
]

/** The variables of a .dev.vars file, as Node reads such files. */
export function parseVars(text) {
  if (util.parseEnv === undefined)
    throw new Error(
      `Isola needs Node 20.12 or later to start; this is ${process.versions.node}. Install a newer one ` +
        '(https://nodejs.org).',
    )
  return { ...util.parseEnv(text) }
}

const whyUnreadable = {
  EISDIR: 'is a folder: move it away, and `npm start` makes the file',
  EACCES: 'cannot be read: it is not yours, or `chmod 600 .dev.vars` is missing',
  EPERM: 'cannot be read: it is not yours, or `chmod 600 .dev.vars` is missing',
}

/** The text of the file; undefined if there is none. Throws with a remedy if the file cannot be read. */
export function readVarsText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    const why = whyUnreadable[error.code] ?? `cannot be read (${error.code})`
    throw new Error(`${basename(path)} ${why}.`, { cause: error })
  }
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
  const text = readVarsText(path) ?? ''
  const vars = parseVars(text)
  const added = Object.keys(needed).filter((name) => !vars[name])
  if (added.length > 0) {
    const lines = added.map((name) => `${name}=${(vars[name] = needed[name]())}\n`)
    appendFileSync(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('')}`)
    chmodSync(path, 0o600)
  }
  return { vars, created, added: created ? [] : added }
}
