// The server: whether it answers, to this key, in this version, and what it says about itself.
import { defined } from '../../src/contracts/defined.ts'
import { ApiError, type Reply } from '../../src/client/client.ts'
import { ownVersion, createConnection, findServer } from '../connection.ts'
import type { Looked } from './deployment.ts'
import { messageOf, short, time } from '../text.ts'
import { networkLine, readNetwork } from '../../scripts/network.mjs'
import { fail, ok, warn, type Finding } from '../../scripts/start/finding.mjs'

const timeoutMs = 10_000

/** A server of another version may leave fields out. */
type Health = Reply<'GET /api/operator/health'>

/** The health of a server as findings. */
export function readHealth(health: Partial<Health>, version: string): Finding[] {
  const { database, migrations, plugins = [], secrets, models, incidents } = health
  const { counts = {}, newest = [] } = incidents ?? {}
  const older = Object.values(counts).reduce((sum, count) => sum + count, 0) - newest.length
  return [
    health.version === version
      ? ok('server', `Version ${version} answers.`)
      : warn('server', `Version ${health.version} answers, this is ${version}.`, {
          fix: 'Start or deploy it again.',
        }),
    database !== 'ok' &&
      fail('server', 'Its database does not answer.', { fix: 'Look at the status of D1.' }),
    migrations?.state === 'not_migrated' &&
      fail('server', 'Its database is not migrated.', { fix: migrations.message }),
    ...plugins.map(({ plugin, code, message }) =>
      fail('plugins', `The plugin ${plugin} is off: ${message} (${code})`, {
        fix: 'Correct the plugin, or remove it.',
      }),
    ),
    plugins.length === 0 && ok('plugins', 'Every plugin loads.'),
    typeof secrets === 'object' &&
      fail('secrets', `No secret can be used: ${secrets.problem}`, {
        fix: 'Set it in .dev.vars, or with `wrangler secret put` (docs/deploy.md).',
      }),
    models?.default
      ? ok('model', `${models.default} answers where no model is named.`)
      : fail('model', 'It has no model.', {
          fix: 'Set OPENAI_API_KEY, or OPENAI_BASE_URL and ISOLA_MODEL.',
        }),
    models?.problem &&
      fail('model', models.problem, {
        fix: 'See what is priced: isola model list (docs/models.md).',
      }),
    ...newest.map(incidentFinding),
    older > 0 &&
      warn('incidents', `${older} older incidents are behind these.`, {
        fix: 'They are shown once newer ones are cleared.',
      }),
  ].flatMap((finding) => finding || [])
}

type Incident = NonNullable<Health['incidents']>['newest'][number]

/** Incident kinds in words; an unknown kind is shown by its name. */
const kinds: Readonly<Record<string, string>> = {
  audit_behind: 'the record is behind',
  storage_failed: 'something could not be stored',
  run_given_up: 'a run was given up',
  record_unreadable: 'a stored record cannot be read',
  model_failing: 'a model fails',
  delivery_behind: 'a result is not delivered',
  alarm_failed: 'an alarm failed',
  telemetry_failed: 'traces do not arrive',
  retention_failed: 'old records were not removed',
  wake_loop: 'a session is woken again and again',
}

/** An incident with place, time and count; it stays until it is over or cleared. */
function incidentFinding({ id, kind, message, session, run, ...when }: Incident): Finding {
  const { count, firstAtMs, lastAtMs } = when
  const where = [session && `in ${session}`, run].filter(Boolean).join(' ')
  const often =
    count === 1
      ? `at ${time(lastAtMs)}`
      : `${count} times from ${time(firstAtMs)} to ${time(lastAtMs)}`
  const what = `${kinds[kind] ?? kind}${where ? ` ${where}` : ''}, ${often}: ${short(message, Infinity)}`
  const look = kind === 'run_given_up' && run ? `isola run retry ${run}, or drop it; then ` : ''
  return warn('incidents', what, { fix: `${look}isola doctor --clear ${id}` })
}

export async function checkServer({ env, fetch }: Looked): Promise<Finding[]> {
  let server
  try {
    server = findServer(env)
  } catch (error) {
    return [fail('server', messageOf(error))]
  }
  try {
    const { request } = createConnection(server, defined({ fetch }))
    const health = await request('GET /api/operator/health', { timeoutMs })
    // An older server has no such route.
    const network = await readNetwork(() => request('GET /api/operator/http')).catch(
      () => undefined,
    )
    return [
      ok('server', `${server.url} accepts the key.`),
      ...readHealth(health, ownVersion()),
      ...(network ? [ok('network', `The network is ${networkLine(network)}.`)] : []),
    ]
  } catch (error) {
    const status = error instanceof ApiError ? error.status : undefined
    const down = `No server answers at ${server.url}.`
    // A local server that is not started is no fault of the installation.
    if (status === 0 && !server.isChosen)
      return [warn('server', down, { fix: 'Start it with `npm start`.' })]
    const what = status === 0 ? down : short(messageOf(error), 300)
    return [fail('server', what, { fix: fixes[status ?? 0] ?? 'Check ISOLA_URL and ISOLA_KEY.' })]
  }
}

const fixes: Readonly<Record<number, string>> = {
  401: 'Set ISOLA_KEY to the key of this server.',
  403: 'Set ISOLA_KEY to a key that may read the state: role operator or auditor.',
  503: 'Do what the message says.',
}
