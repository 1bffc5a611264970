// The steps of a deployment, in order. Each step finds existing resources before it makes any, so that all can be run
// again after a failure of any of them.

import type { Env } from '../command.ts'
import { type Keys, ensureSecrets } from './secrets.ts'
import { type Config, type TenantPlan, knownAccount, tenantConfig, writeConfig } from './tenant.ts'
import type { Wrangler } from './wrangler.ts'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { update } from '../../scripts/generate.mjs'
import { isOfOlderBuild } from '../../scripts/first-migration.mjs'
import { ownVersion } from '../connection.ts'
import { findAccount, ensureResource } from './wrangler.ts'
import { addressOf, checkDeployment } from './smoke.ts'

// The values that the steps of a deployment hand on to each other.

/** Facts that steps find for later steps. */
export interface DeployState {
  account?: string
  /** By binding. */
  ids: Record<string, string>
  /** Where the Worker answers. */
  url?: string
  /** It had no operator key before. */
  isNew?: boolean
  warnings: readonly string[]
}

export interface Parts {
  readonly config: Config
  readonly plan: TenantPlan
  readonly keys: Keys
  /** Values that no output may show. */
  readonly secrets: Set<string>
  readonly wrangler: Wrangler
  readonly state: DeployState
  readonly env: Env
  readonly waitMs: number
  /** Secrets to make anew. */
  readonly rotate: readonly string[]
  readonly say: (line: string) => unknown
}

async function generate() {
  update()
  return 'the list of plugins is written'
}

/** Runs `wrangler deploy` and reads from its report where the Worker answers. */
async function upload({ wrangler, plan, state }: Parts) {
  const folder = mkdtempSync(join(tmpdir(), 'isola-deploy-'))
  const report = join(folder, 'report.ndjson')
  try {
    // `keep-vars`: variables that a person set in the dashboard stay.
    const args = ['deploy', '--config', plan.configPath, '--keep-vars']
    await wrangler
      .run(args, { env: { WRANGLER_OUTPUT_FILE_PATH: report } })
      .catch((error: unknown) => Promise.reject(refusedObjects(error, plan.worker)))
    const entries = readFileSync(report, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): { type?: string; targets?: unknown[] } => JSON.parse(line))
    const url = addressOf(entries.find(({ type }) => type === 'deploy')?.targets)
    if (url !== undefined) state.url ??= url
    return state.url ?? 'no address is known'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const elsewhere =
  'deploy this version under another name (isola deploy --tenant <name>), or delete that one first'

/** Cloudflare makes no class anew whose objects another build has made. */
const refusedObjects = (error: unknown, worker: string): unknown =>
  error instanceof Error &&
  error.message.includes('already depended on by existing Durable Objects')
    ? new Error(
        `The Durable Objects of ${worker} were made by a build before the first release of Isola and were not ` +
          `changed: ${elsewhere}.`,
        { cause: error },
      )
    : error

/** Rows of a query of the deployed database. */
async function rowsOf({ wrangler, plan }: Parts, binding: string, sql: string) {
  const args = ['d1', 'execute', binding, '--remote', '--json', '--command', sql]
  const answers = await wrangler.json<
    readonly { readonly results?: readonly { name: string }[] }[]
  >([...args, '--config', plan.configPath])
  return answers.flatMap(({ results = [] }) => results.map(({ name }) => name))
}

/** Throws for a database of a build before the first release, before anything is made or changed. */
async function refuseOlderDatabase(
  parts: Parts,
  { binding, name }: { binding: string; name: string },
) {
  const table = `SELECT name FROM sqlite_master WHERE name = 'd1_migrations'`
  if ((await rowsOf(parts, binding, table)).length === 0) return
  if (isOfOlderBuild(await rowsOf(parts, binding, 'SELECT name FROM d1_migrations')))
    throw new Error(
      `The database ${name} was made by a build before the first release of Isola and was not changed: ${elsewhere}.`,
    )
}

const noteOf = {
  kept: 'is there',
  put: 'made',
  restored: 'put back from the key file',
  elsewhere: 'is there, its value is not on this machine',
}

interface Step {
  readonly name: string
  /** @returns One line about the work that was done. */
  readonly run: (parts: Parts) => Promise<string>
}

export const steps: readonly Step[] = [
  { name: 'plugins', run: generate },
  {
    name: 'login',
    async run({ wrangler, plan, config, state, env }) {
      const known = knownAccount(plan) ?? config.account_id
      state.account = await findAccount(wrangler, { named: env['CLOUDFLARE_ACCOUNT_ID'], known })
      writeConfig(plan.configPath, tenantConfig(config, plan, state))
      return `account ${state.account}`
    },
  },
  ...(['database', 'namespace'] as const).map((kind): Step => ({
    name: kind,
    async run(parts) {
      const { wrangler, plan, config, state } = parts
      const said = []
      for (const { binding, name, id: given } of plan[`${kind}s`]) {
        const { id, isNew } = given
          ? { id: given, isNew: false }
          : await ensureResource(wrangler, kind, { name, configPath: plan.configPath })
        state.ids[binding] = id
        said.push(`${name} ${isNew ? 'made' : 'found'}`)
      }
      writeConfig(plan.configPath, tenantConfig(config, plan, state))
      if (kind === 'database')
        for (const one of plan.databases) if (one.migrations) await refuseOlderDatabase(parts, one)
      return said.join(', ')
    },
  })),
  {
    // Before the code that needs them: migrations only add, so the version that runs does not mind.
    name: 'migrations',
    async run({ wrangler, plan }) {
      const migrated = plan.databases.filter(({ migrations }) => migrations)
      for (const { binding } of migrated)
        await wrangler.run([
          'd1',
          'migrations',
          'apply',
          binding,
          '--remote',
          '--config',
          plan.configPath,
        ])
      return `applied to ${migrated.map(({ name }) => name).join(', ')}`
    },
  },
  { name: 'deploy', run: upload },
  {
    // A Worker without its key refuses every request meanwhile.
    name: 'secrets',
    async run({ wrangler, plan, keys, secrets, rotate, say, state }) {
      // Said at once: a later step that fails must not hide it.
      const onNew = (name: string, value: string) =>
        name === 'ISOLA_OPERATOR_KEY' && say(`\nKey  ${value}\n`)
      const states = await ensureSecrets(wrangler, { keys, secrets, rotate, onNew, ...plan })
      state.isNew = states['ISOLA_OPERATOR_KEY'] === 'put' && rotate.length === 0
      return Object.entries(states)
        .map(([name, how]) => `${name} ${noteOf[how]}`)
        .join(', ')
    },
  },
  {
    name: 'check',
    async run({ keys, state, waitMs }) {
      if (!state.url) throw new Error('Where the Worker answers is not known: name it with --url.')
      const key = keys.get('ISOLA_OPERATOR_KEY')
      state.warnings = await checkDeployment({ url: state.url, key, version: ownVersion(), waitMs })
      return state.url
    },
  },
]
