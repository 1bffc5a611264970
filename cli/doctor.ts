// isola doctor: finds faults of this installation, and says how to put each right.
import { defined } from '../src/contracts/defined.ts'
import { isClone, staleReason } from '../scripts/toolchain.mjs'
import { command, type Context, type Env } from './command.ts'
import { flag, text, texts, type Options, type ValuesOf } from './options.ts'
import { isLocal, readVars } from './connection.ts'
import { checkDatabase } from './doctor/database.ts'
import { checkDeployment } from './doctor/deployment.ts'
import { fail, ok, type Finding } from '../scripts/start/finding.mjs'
import { checkModel } from '../scripts/start/check-model.mjs'
import { checkServer } from './doctor/server.ts'
import { checkSettings } from './doctor/settings.ts'
import { checkVariables } from './doctor/variables.ts'
import { checkWorker } from './doctor/worker.ts'
import { messageOf } from './text.ts'

/** The settings that a check looks at. */
interface Looked {
  readonly env: Env
  readonly fetch?: typeof globalThis.fetch
  readonly tenant?: string | undefined
  readonly folder?: string | undefined
}
type Check = (looked: Looked) => Finding[] | Promise<Finding[]>
/** A finding, perhaps one that was mended just now. */
type Mended = Finding & { readonly isFixed?: boolean }

function checkPackages() {
  const reason = staleReason()
  return reason
    ? [
        fail('packages', `Packages are not what package-lock.json says: ${reason}.`, {
          fix: 'npm ci',
        }),
      ]
    : [ok('packages', 'Packages are what package-lock.json says.')]
}

/** A file that cannot be read is said by `variables`. */
function varsOrNone() {
  try {
    return readVars()
  } catch {
    return {}
  }
}

/** Of a server elsewhere the settings here say nothing: it tells its model itself. */
const checkLocalModel: Check = ({ env, ...context }) =>
  URL.canParse(env['ISOLA_URL'] ?? '') && !isLocal(env['ISOLA_URL'] ?? '')
    ? []
    : checkModel({ env, vars: varsOrNone(), ...context })

const checksOfClone: Readonly<Record<string, Check>> = {
  packages: checkPackages,
  '.dev.vars': () => checkVariables(),
  settings: checkSettings,
  'wrangler.toml and plugins': checkWorker,
  'the local database': checkDatabase,
  'the tenant': checkDeployment,
}

/** By what each looks at, in the order in which one rests on the other. Without a clone there is the server alone. */
const checks: Readonly<Record<string, Check>> = {
  ...(isClone && checksOfClone),
  'the server': checkServer,
  ...(isClone && { 'the model': checkLocalModel }),
}

const mark = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' }
const worst = (findings: readonly Finding[]) =>
  ['fail', 'warn'].find((state) => findings.some((finding) => finding.state === state)) ?? 'ok'

/** Repairs what a check found and looks again. What could not be repaired stays as found. */
async function mend(check: Check, context: Looked, findings: Finding[]): Promise<Mended[]> {
  const repairs = new Set(findings.map(({ repair }) => repair).filter(Boolean))
  if (repairs.size === 0) return findings
  for (const repair of repairs) await repair?.()
  const now = await check(context)
  return now.map((finding) => {
    const before = findings.find(({ what }) => what === finding.what)
    return before ? finding : { ...finding, isFixed: true }
  })
}

/** Takes incidents off the list. */
async function clearIncidents(
  ids: readonly string[],
  { request, print }: Pick<Context, 'request' | 'print'>,
) {
  const cleared = []
  for (const incident of ids)
    cleared.push(
      await request('DELETE /api/operator/incidents/:incident', { params: { incident } }),
    )
  const lines = cleared.map(({ id }) => `${id} is cleared; if it goes on, it is reported anew.`)
  print({ cleared }, lines.join('\n'))
}

async function run({
  values,
  env,
  print,
  fetch,
  isJson,
  stderr,
  request,
}: Context<ValuesOf<typeof options>>) {
  const { tenant, folder, clear } = values
  if (clear) return clearIncidents(clear, { request, print })
  const context: Looked = { env, ...defined({ fetch }), tenant, folder }
  const findings: Omit<Mended, 'repair'>[] = []
  for (const [subject, check] of Object.entries(checks)) {
    // Some take seconds.
    if (!isJson) stderr.write(`Looking at ${subject} …\n`)
    let found: Mended[] = await check(context)
    try {
      if (values.fix) found = await mend(check, context, found)
    } catch (error) {
      found.push(fail('fix', `It could not be repaired: ${messageOf(error)}`))
    }
    findings.push(...found.map(({ repair: _repair, ...finding }) => finding))
  }
  const status = worst(findings)
  const lines = findings.flatMap(({ state, check, what, fix, isFixed }) => [
    `${mark[state]}  ${check.padEnd(13)}  ${what}${isFixed ? ' (repaired now)' : ''}`,
    ...(state !== 'ok' && fix ? [`${' '.repeat(21)}${fix}`] : []),
  ])
  print({ status, findings }, lines.join('\n'))
  return status === 'fail' ? 1 : 0
}

const options = {
  fix: flag('make what is missing: keys, migrations, src/bundled.gen.ts; replaces nothing'),
  clear: texts(
    'incident',
    'take an incident off the list, by the id that is shown, or all; looks at nothing',
  ),
  tenant: text('name', "also a tenant's keys and secrets; asks wrangler"),
  folder: text('path', 'where `isola deploy` keeps them (.isola)'),
} as const satisfies Options

export default command('doctor', {
  usage: '[--fix] [--clear <incident>] [--tenant <name>] [--folder <path>]',
  about: `Looks at packages, .dev.vars and what the Worker would refuse of it, wrangler.toml, the generated sources, the local database, the server and its model.
Exit code 1 if something fails. A local server that is not started is a warning, one that ISOLA_URL names a failure.`,
  options,
  run,
})
