// Migrations of the local database. The server's own answer is looked at in server.mjs.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { root, runNode, tools } from '../../toolchain.mjs'
import { fail, ok, warn, type Finding } from '../../start/finding.mjs'
import type { Env } from '../command.ts'

export async function checkDatabase({
  env,
  wrangler = tools.wrangler,
}: {
  readonly env: Env
  readonly wrangler?: string
}): Promise<Finding[]> {
  const state = resolve(root, env['ISOLA_STATE'] || '.wrangler/state')
  const migrations = (verb: string) =>
    runNode([wrangler, 'd1', 'migrations', verb, 'DB', '--local', '--persist-to', state], {
      capture: true,
    })
  const repair = async () => {
    const { code, output } = await migrations('apply')
    if (code !== 0) throw new Error(output.trim())
  }
  const fix = 'Run `isola doctor --fix`, or `npm start`.'
  // Asking wrangler would make the folder.
  if (!existsSync(state))
    return [warn('database', 'There is no local database yet.', { fix, repair })]
  const { code, output } = await migrations('list')
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
