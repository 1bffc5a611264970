// The server: whether it answers, to this key, in this version, and what it says about itself.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../toolchain.mjs'
import { ApiError, type Reply } from '../../../src/client/client.ts'
import type { Env } from '../command.ts'
import { createConnection, findServer } from '../connection.ts'
import { short } from '../text.ts'
import { networkLine, readNetwork } from '../../network.mjs'
import { fail, ok, warn, type Finding } from '../../start/finding.mjs'

const timeoutMs = 10_000

/** One of another version may leave out what it does not know. */
type Health = Reply<'GET /api/operator/health'>

/** What a server says about itself, as findings. */
export function readHealth(health: Partial<Health>, version: string): Finding[] {
  const { database, migrations, plugins = [], secrets, models, incidents } = health
  const findings: Finding[] = [
    health.version === version
      ? ok('server', `Version ${version} answers.`)
      : warn('server', `Version ${health.version} answers, this is ${version}.`, {
          fix: 'Start or deploy it again.',
        }),
  ]
  if (database !== 'ok')
    findings.push(
      fail('server', 'Its database does not answer.', { fix: 'Look at the status of D1.' }),
    )
  if (migrations?.state === 'not_migrated')
    findings.push(fail('server', 'Its database is not migrated.', { fix: migrations.message }))
  for (const { plugin, code, message } of plugins) {
    const what = `The plugin ${plugin} is off: ${message} (${code})`
    findings.push(fail('plugins', what, { fix: 'Correct the plugin, or remove it.' }))
  }
  if (plugins.length === 0) findings.push(ok('plugins', 'Every plugin loads.'))
  if (typeof secrets === 'object')
    findings.push(
      fail('secrets', `No secret can be used: ${secrets.problem}`, {
        fix: 'Set it in .dev.vars, or with `wrangler secret put` (docs/deploy.md).',
      }),
    )
  findings.push(
    models?.default
      ? ok('model', `${models.default} answers where no model is named.`)
      : fail('model', 'It has no model.', {
          fix: 'Set OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL.',
        }),
  )
  if (models?.problem)
    findings.push(
      fail('model', models.problem, {
        fix: 'See what is priced: isola model list (docs/models.md).',
      }),
    )
  const counts = Object.entries(incidents?.counts ?? {})
  if (counts.length > 0) {
    const what = counts.map(([kind, count]) => `${kind} in ${count} places`).join(', ')
    findings.push(
      warn('server', `Incidents: ${what}.`, { fix: 'See `incidents` of /api/operator/health.' }),
    )
  }
  return findings
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

export async function checkServer({
  env,
  fetch,
}: {
  readonly env: Env
  readonly fetch?: typeof globalThis.fetch
}): Promise<Finding[]> {
  let server
  try {
    server = findServer(env)
  } catch (error) {
    return [fail('server', messageOf(error))]
  }
  try {
    const { request } = createConnection(server, { ...(fetch && { fetch }) })
    const health = await request('GET /api/operator/health', { timeoutMs })
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    // One of a version before has no such page.
    const network = await readNetwork(() => request('GET /api/operator/http')).catch(
      () => undefined,
    )
    return [
      ok('server', `${server.url} accepts the key.`),
      ...readHealth(health, version),
      ...(network ? [ok('network', `The network is ${networkLine(network)}.`)] : []),
    ]
  } catch (error) {
    const status = error instanceof ApiError ? error.status : undefined
    const isDown = status === 0
    // A local server that is not started is no fault of the installation.
    if (isDown && !server.isChosen)
      return [
        warn('server', `No server answers at ${server.url}.`, {
          fix: 'Start it with `npm start`.',
        }),
      ]
    const what = isDown ? `No server answers at ${server.url}.` : short(messageOf(error), 300)
    return [fail('server', what, { fix: fixes[status ?? 0] ?? 'Check ISOLA_URL and ISOLA_KEY.' })]
  }
}

const fixes: Readonly<Record<number, string>> = {
  401: 'Set ISOLA_KEY to the key of this server.',
  403: 'Set ISOLA_KEY to a key that may read the state: role operator or auditor.',
  503: 'Do what the message says.',
}
