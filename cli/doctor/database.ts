// Migrations of the local database. The server's own answer is looked at in server.mjs.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { root, runNode, tools } from '../../scripts/toolchain.mjs'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import type { Env } from '../command.ts'
import { findServer } from '../connection.ts'

const migrate = join(root, 'scripts', 'start', 'migrate.mjs')

interface Looked {
  readonly env: Env
  readonly fetch?: typeof globalThis.fetch
}

/** The local server, if one answers: its database is in another folder then. */
async function runningAt({ env, fetch = globalThis.fetch }: Looked): Promise<string | undefined> {
  try {
    const { url, isLocal } = findServer(env)
    if (!isLocal) return undefined
    await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) })
    return url
  } catch {
    return undefined
  }
}

export async function checkDatabase({ env, ...more }: Looked): Promise<Finding[]> {
  const state = resolve(root, env['ISOLA_STATE'] || '.wrangler/state')
  const repair = async () => {
    // As `npm start` does: wrangler's own command would start a workerd for each migration.
    const { code, output } = await runNode([migrate, state], { capture: true })
    if (code !== 0) throw new Error(output.trim())
  }
  const fix = 'Run `isola doctor --fix`, or `npm start`.'
  // Asking wrangler would make the folder.
  const url = existsSync(state) ? undefined : await runningAt({ env, ...more })
  if (url !== undefined) {
    const what = `A server answers at ${url}, and its database is not in ${state}, where this shell looks.`
    const name = 'Name the folder of that server: ISOLA_STATE=<folder> isola doctor'
    return [warn('database', what, { fix: name })]
  }
  if (!existsSync(state))
    return [warn('database', 'There is no local database yet.', { fix, repair })]
  const list = ['d1', 'migrations', 'list', 'DB', '--local', '--persist-to', state]
  const { code, output } = await runNode([tools.wrangler, ...list], { capture: true })
  if (code !== 0) {
    const last = output.trim().split('\n').at(-1)
    return [
      fail('database', `The local database cannot be read: ${last}`, { fix: 'Run `npm start`.' }),
    ]
  }
  if (/No migrations to apply/.test(output))
    return [ok('database', 'The local database is migrated.')]
  const names = [...new Set(output.match(/\b\d{4}_\w+\.sql\b/g) ?? [])].join(', ')
  return [
    fail('database', `The local database lacks migrations: ${names || 'some'}.`, { fix, repair }),
  ]
}
