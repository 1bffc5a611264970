// A tenant that was deployed from here: its key file, and whether its Worker has its secrets.
import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newSecrets } from '../../scripts/dev-vars.mjs'
import { root } from '../../scripts/toolchain.mjs'
import { openKeys } from '../deploy/secrets.ts'
import { planTenant, readConfig } from '../deploy/tenant.ts'
import { createWrangler } from '../deploy/wrangler.ts'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'
import type { Env } from '../command.ts'
import { messageOf } from '../text.ts'

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

interface Looked {
  readonly env: Env
  readonly tenant?: string | undefined
  readonly folder?: string | undefined
}

export async function checkDeployment({ env, tenant, folder }: Looked): Promise<Finding[]> {
  if (tenant === undefined) return []
  const plan = planTenant(await readConfig(), {
    tenant,
    folder: resolve(folder ?? join(root, '.isola')),
  })
  const fix = `Run \`isola deploy --tenant ${tenant}\`.`
  if (!existsSync(plan.configPath))
    return [fail('deployment', `${plan.worker} was not deployed from here.`, { fix })]
  const wrangler = createWrangler(env['ISOLA_WRANGLER'] ? { file: env['ISOLA_WRANGLER'] } : {})
  const findings = [checkKeys(plan.keysPath)]
  try {
    const list = ['secret', 'list', '--format', 'json', '--config', plan.configPath]
    const there = (await wrangler.json<{ name: string }[]>(list)).map(({ name }) => name)
    const missing = Object.keys(newSecrets).filter((name) => !there.includes(name))
    findings.push(
      missing.length === 0
        ? ok('deployment', `${plan.worker} has its secrets.`)
        : fail('deployment', `${plan.worker} lacks ${missing.join(' and ')}.`, { fix }),
    )
  } catch (error) {
    const why = messageOf(error).split('\n').at(-1)
    findings.push(
      warn('deployment', `Its secrets could not be listed: ${why}`, { fix: 'wrangler login' }),
    )
  }
  return findings
}
