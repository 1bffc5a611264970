// A tenant that was deployed from here: its key file, and whether its Worker has its secrets.

import { existsSync, statSync } from 'node:fs'
import { resolve, join } from 'node:path'
import { newSecrets } from '../../scripts/dev-vars.mjs'
import { namesOfSecrets, openKeys } from '../deploy/secrets.ts'
import { defaultFolder, planTenant, readConfig } from '../deploy/tenant.ts'
import { createWrangler } from '../deploy/wrangler.ts'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import type { Env } from '../command.ts'
import { messageOf } from '../text.ts'
import { root, runNode, tools } from '../../scripts/toolchain.mjs'
import { findServer } from '../connection.ts'

function checkKeys(path: string): Finding {
  if (!existsSync(path)) {
    const fix = 'Copy its key file here, or make a new operator key: `isola deploy --rotate-key`.'
    return warn('deployment', 'Its keys are not on this machine.', { fix })
  }
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    return warn('deployment', 'Others on this machine can read its keys.', {
      fix: `chmod 600 ${path}`,
    })
  const keys = openKeys(path)
  return Object.keys(newSecrets).some((name) => keys.proposed(name))
    ? warn('deployment', 'A new key was made and not put.', { fix: 'Run `isola deploy` again.' })
    : ok('deployment', 'Its keys are on this machine.')
}

/** The settings that a check looks at. */
export interface Looked {
  readonly env: Env
  readonly fetch?: typeof globalThis.fetch
  readonly tenant?: string | undefined
  readonly folder?: string | undefined
}

export async function checkDeployment({ env, tenant, folder }: Looked): Promise<Finding[]> {
  if (tenant === undefined) return []
  const plan = planTenant(await readConfig(), { tenant, folder: resolve(folder ?? defaultFolder) })
  const fix = `Run \`isola deploy --tenant ${tenant}\`.`
  if (!existsSync(plan.configPath))
    return [fail('deployment', `${plan.worker} was not deployed from here.`, { fix })]
  const wrangler = createWrangler(env['ISOLA_WRANGLER'] ? { file: env['ISOLA_WRANGLER'] } : {})
  const findings = [checkKeys(plan.keysPath)]
  try {
    const there = await namesOfSecrets(wrangler, plan.configPath)
    const missing = Object.keys(newSecrets).filter((name) => !there.includes(name))
    const lacks = `${plan.worker} lacks ${missing.join(' and ')}.`
    findings.push(
      missing.length > 0
        ? fail('deployment', lacks, { fix })
        : ok('deployment', `${plan.worker} has its secrets.`),
    )
  } catch (error) {
    const why = messageOf(error).split('\n').at(-1)
    findings.push(
      warn('deployment', `Its secrets could not be listed: ${why}`, { fix: 'wrangler login' }),
    )
  }
  return findings
}

// Migrations of the local database. The server's own answer is looked at in server.mjs.

const migrate = join(root, 'scripts', 'start', 'migrate.mjs')

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
  if (!existsSync(state)) {
    const url = await runningAt({ env, ...more })
    if (url === undefined)
      return [warn('database', 'There is no local database yet.', { fix, repair })]
    const what = `A server answers at ${url}, and its database is not in ${state}, where this shell looks.`
    const name = 'Name the folder of that server: ISOLA_STATE=<folder> isola doctor'
    return [warn('database', what, { fix: name })]
  }
  const list = ['d1', 'migrations', 'list', 'DB', '--local', '--persist-to', state]
  const { code, output } = await runNode([tools.wrangler, ...list], { capture: true })
  if (code !== 0) {
    const what = `The local database cannot be read: ${output.trim().split('\n').at(-1)}`
    return [fail('database', what, { fix: 'Run `npm start`.' })]
  }
  if (/No migrations to apply/.test(output))
    return [ok('database', 'The local database is migrated.')]
  const names = [...new Set(output.match(/\b\d{4}_\w+\.sql\b/g) ?? [])].join(', ')
  const what = `The local database lacks migrations: ${names || 'some'}.`
  return [fail('database', what, { fix, repair })]
}
