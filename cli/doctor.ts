// isola doctor: finds faults of this installation, and says how to put each right.
import { defined } from '../src/contracts/defined.ts'
import { isClone, staleReason } from '../scripts/toolchain.mjs'
import { command, type Context } from './command.ts'
import { flag, text, texts, type ValuesOf } from './options.ts'
import { isLocal, readVars } from './connection.ts'
import { checkDatabase, checkDeployment, type Looked } from './doctor/deployment.ts'
import { fail, ok, type Finding } from '../scripts/start/finding.mjs'
import { checkModel } from '../scripts/start/check-model.mjs'
import { checkServer } from './doctor/server.ts'
import { checkSettings, checkVariables } from './doctor/variables.ts'
import { checkWorker } from './doctor/worker.ts'
import { lines, messageOf } from './text.ts'

type Check = (looked: Looked) => Finding[] | Promise<Finding[]>
/** A finding, perhaps one that was mended just now. */
type Mended = Finding & { readonly isFixed?: boolean }

function checkPackages() {
  const reason = staleReason()
  if (!reason) return [ok('packages', 'Packages are what package-lock.json says.')]
  const what = `Packages are not what package-lock.json says: ${reason}.`
  return [fail('packages', what, { fix: 'npm ci' })]
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

/** By what each looks at, in the order in which one rests on the other. Without a clone there is the server alone. */
const checks: Readonly<Record<string, Check>> = {
  ...(isClone && {
    packages: checkPackages,
    '.dev.vars': () => checkVariables(),
    settings: checkSettings,
    'wrangler.toml and plugins': checkWorker,
    'the local database': checkDatabase,
    'the tenant': checkDeployment,
  }),
  'the server': checkServer,
  ...(isClone && { 'the model': checkLocalModel }),
}

const mark = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' }
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

async function run(context: Context<ValuesOf<typeof options>>) {
  const { values, env, print, isJson, stderr, ask } = context
  const { tenant, folder, clear } = values
  if (clear) {
    const cleared = []
    for (const incident of clear)
      cleared.push(await ask('DELETE /api/operator/incidents/:incident', undefined, [incident]))
    const told = cleared.map(({ id }) => `${id} is cleared; if it goes on, it is reported anew.`)
    return print({ cleared }, lines(told))
  }
  const looked: Looked = { env, ...defined({ fetch: context.fetch }), tenant, folder }
  const findings: Mended[] = []
  for (const [subject, check] of Object.entries(checks)) {
    // Some take seconds.
    if (!isJson) stderr.write(`Looking at ${subject} …\n`)
    const found = await check(looked)
    try {
      findings.push(...(values.fix ? await mend(check, looked, found) : found))
    } catch (error) {
      findings.push(...found, fail('fix', `It could not be repaired: ${messageOf(error)}`))
    }
  }
  const status =
    ['fail', 'warn'].find((state) => findings.some((finding) => finding.state === state)) ?? 'ok'
  const told = findings.flatMap(({ state, check, what, fix, isFixed }) => [
    `${mark[state]}  ${check.padEnd(13)}  ${what}${isFixed ? ' (repaired now)' : ''}`,
    ...(state !== 'ok' && fix ? [`${' '.repeat(21)}${fix}`] : []),
  ])
  print({ status, findings }, lines(told))
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
}

export default command('doctor', {
  usage: '[--fix] [--clear <incident>] [--tenant <name>] [--folder <path>]',
  about:
    'Looks at packages, .dev.vars and what the Worker would refuse of it, ' +
    'wrangler.toml, the generated sources, the local database, the server and its model.\n' +
    'Exit code 1 if something fails. ' +
    'A local server that is not started is a warning, one that ISOLA_URL names a failure.',
  options,
  run,
})
