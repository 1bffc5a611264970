// isola deploy: one tenant, one Worker with its own database, namespace and secrets.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { defined } from '../src/contracts/defined.ts'
import { locations, type Location } from '../src/platform/objects/location.ts'
import { root } from '../scripts/toolchain.mjs'
import { newSecrets } from '../scripts/dev-vars.mjs'
import { askForHosts, mayAsk, networkLine, readNetwork } from '../scripts/network.mjs'
import { command, type Context, type Io } from './command.ts'
import { flag, text, type ValuesOf, UsageError } from './options.ts'
import { createConnection } from './connection.ts'
import type { DeployState, Parts } from './deploy/steps.ts'
import { openKeys } from './deploy/secrets.ts'
import { steps } from './deploy/steps.ts'
import {
  defaultFolder,
  planTenant,
  readConfig,
  tenantConfig,
  writeConfig,
  type TenantPlan,
} from './deploy/tenant.ts'
import { createWrangler } from './deploy/wrangler.ts'
import { lines, messageOf } from './text.ts'

const near = (path: string) => {
  const inside = relative(root, path)
  return inside.startsWith('..') ? path : inside
}

/** Shows the resources that would be made, and lets wrangler check them. Needs no account, changes nothing. */
async function rehearse({
  config,
  plan,
  wrangler,
  print,
}: Pick<Parts, 'config' | 'plan' | 'wrangler'> & Pick<Context, 'print'>) {
  const names = (list: TenantPlan['namespaces']) =>
    list.map(({ name, binding }) => `${name} (${binding})`).join(', ')
  const folder = mkdtempSync(join(tmpdir(), 'isola-dry-run-'))
  try {
    const configPath = join(folder, 'wrangler.json')
    writeConfig(configPath, tenantConfig(config, { ...plan, configPath }))
    const out = join(folder, 'out')
    await wrangler.run(['deploy', '--dry-run', '--config', configPath, '--outdir', out])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const { worker, databases, namespaces, configPath, keysPath } = plan
  const made = {
    worker,
    databases: databases.map(({ name }) => name),
    namespaces: namespaces.map(({ name }) => name),
    secrets: Object.keys(newSecrets),
    config: near(configPath),
    keys: near(keysPath),
  }
  const text = lines(
    `Worker         ${worker}`,
    `D1 database    ${names(databases)}: found or made, migrations applied`,
    `KV namespace   ${names(namespaces)}: found or made`,
    `Secrets        ${made.secrets.join(', ')}: made if missing, kept in ${made.keys}`,
    `Configuration  ${made.config}`,
    'Nothing was made. `wrangler deploy --dry-run` takes it.',
  )
  print(made, text)
}

function parseWait(text = '60') {
  const seconds = Number(text)
  if (!(seconds >= 0 && seconds <= 3_600))
    throw new UsageError('--wait must be seconds, 0 to 3600.')
  return seconds * 1_000
}

/** Runs the steps; the first that fails ends it. */
async function runSteps(parts: Parts) {
  for (const [index, step] of steps.entries()) {
    const at = `${index + 1}/${steps.length} ${step.name}`
    try {
      parts.say(`${at}: ${await step.run(parts)}`)
    } catch (error) {
      throw new Error(
        `${at} failed: ${messageOf(error)}\nWhat was done stays done: run the same command again.`,
        { cause: error },
      )
    }
  }
}

/** Which hosts the http tools may reach: a person at a terminal is asked once, for a new deployment. */
async function settleNetwork({ state, keys, say }: Parts, { stdin, stdout, env }: Io) {
  const key = keys.get('ISOLA_OPERATOR_KEY')
  if (!key || !state.url) return undefined
  const { request } = createConnection({ url: state.url, key })
  // readline only writes to its output.
  if (state.isNew && mayAsk({ stdin, stdout, env }))
    await askForHosts({
      open: (allow) => request('POST /api/operator/http', { body: { allow } }),
      say,
      stdin,
      stdout: stdout as NodeJS.WritableStream,
    })
  const network = await readNetwork(() => request('GET /api/operator/http')).catch(() => undefined)
  return network && `Its network is ${networkLine(network)}.`
}

async function run(context: Context<ValuesOf<typeof options>>) {
  const { values, env, print, isJson, stderr } = context
  const waitMs = parseWait(values.wait)
  const { url, tenant, location, folder = defaultFolder } = values
  const { 'without-isolates': withoutIsolates } = values
  if (location !== undefined && !locations.includes(location as Location))
    throw new UsageError(`--location must be one of ${locations.join(', ')}.`)
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)))
    throw new UsageError('--url must be an http or https URL.')
  const config = await readConfig()
  const plan = planTenant(config, {
    tenant,
    folder: resolve(folder),
    ...defined({ withoutIsolates, location }),
  })
  const keys = openKeys(plan.keysPath)
  const secrets = new Set(keys.values())
  const wrangler = createWrangler({
    ...(env['ISOLA_WRANGLER'] && { file: env['ISOLA_WRANGLER'] }),
    ...defined({ program: context.wrangler }),
    secrets,
  })
  if (values['dry-run']) return rehearse({ config, plan, wrangler, print })

  const state: DeployState = { ids: {}, warnings: [], ...(url && { url: new URL(url).origin }) }
  const rotate = values['rotate-key'] ? ['ISOLA_OPERATOR_KEY'] : []
  const say = (line: string) => (isJson ? stderr.write(`${line}\n`) : print(undefined, line))
  const parts = { config, plan, keys, secrets, wrangler, state, env, waitMs, rotate, say }
  await runSteps(parts)
  const { warnings, account } = state
  const { worker } = plan
  const where = near(plan.keysPath)
  const text = lines(
    warnings.map((warning) => `! ${warning}`),
    await settleNetwork(parts, context),
    `${worker} is deployed: ${state.url}. Its keys are in ${where}: keep a copy elsewhere.`,
  )
  print({ worker, url: state.url, account, keys: where, warnings }, text)
}

const options = {
  tenant: text('name', 'a deployment of its own, isola-<name>'),
  'dry-run': flag('say what would be made; needs no account'),
  'without-isolates': flag('for a plan without Worker Loader'),
  location: text('hint', 'where its shared objects are made, such as weur'),
  'rotate-key': flag('a new operator key in place of the one that is'),
  url: text('url', 'where it answers, if wrangler does not say'),
  wait: text('seconds', 'how long the check may take (60)'),
  folder: text('path', 'configuration and keys of tenants (.isola)'),
}

export default command('deploy', {
  needsClone: true,
  usage:
    '[--tenant <name>] [--dry-run] [--without-isolates] [--location <hint>] [--rotate-key] ' +
    '[--url <url>] [--wait <seconds>] [--folder <path>]',
  about:
    'Makes or brings up to date one deployment: ' +
    'Worker, D1 database, KV namespace, secrets, migrations, then a check.\n' +
    'It may be run again at any time; after a failure it goes on with what is missing.',
  options,
  run,
})
