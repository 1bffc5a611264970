// A tenant's names and its configuration, made from the one wrangler.toml.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { root } from '../../scripts/toolchain.mjs'
import { UsageError } from '../options.ts'

/** wrangler.toml as far as it is looked at. */
export interface Config extends Readonly<Record<string, unknown>> {
  readonly name?: string
  readonly main?: string
  readonly account_id?: string
  readonly compatibility_date?: string
  readonly compatibility_flags?: readonly string[]
  readonly alias?: Readonly<Record<string, string>>
  readonly assets?: { readonly directory?: string }
  readonly d1_databases?: readonly {
    readonly binding: string
    readonly database_name?: string | undefined
    readonly database_id?: string | undefined
    readonly migrations_dir?: string
  }[]
  readonly kv_namespaces?: readonly { readonly binding: string; readonly id?: string | undefined }[]
  readonly durable_objects?: {
    readonly bindings?: readonly { readonly name: string; readonly class_name: string }[]
  }
  readonly migrations?: readonly {
    readonly new_sqlite_classes?: readonly string[]
    readonly renamed_classes?: readonly { readonly to: string }[]
  }[]
}

/** Names of everything that one deployment has. */
export type TenantPlan = ReturnType<typeof planTenant>

/** The contents of wrangler.toml, by wrangler's own reader, so that both read it alike. */
export async function readConfig(path = join(root, 'wrangler.toml')): Promise<Config> {
  const { experimental_readRawConfig: read } = await import('wrangler')
  return read({ config: path }).rawConfig as Config
}

/** Where configuration and keys of tenants are, unless another folder is named. */
export const defaultFolder = join(root, '.isola')

/** Names of everything a tenant has. Without one: the names that a plain `wrangler deploy` would take. */
export function planTenant(
  config: Config,
  {
    tenant,
    folder,
    withoutIsolates = false,
    location,
  }: {
    readonly tenant?: string | undefined
    readonly folder: string
    readonly withoutIsolates?: boolean
    readonly location?: string
  },
) {
  // 40 and the Worker's own name stay below the 63 of a label in a host name.
  if (tenant !== undefined && !/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(tenant)) {
    const rule = 'lowercase letters, digits and single hyphens inside, at most 40'
    throw new UsageError(`--tenant must be ${rule}, not ${tenant}.`)
  }
  const { name: own = 'isola' } = config
  const worker = tenant === undefined ? own : `${own}-${tenant}`
  const suffix = (binding: string) => `-${binding.toLowerCase().replaceAll('_', '-')}`
  // A name or an id that wrangler.toml gives is the untitled deployment's: a tenant shares nothing with it.
  const given = (value: string | undefined) => (tenant === undefined ? value : undefined)
  const files = join(folder, worker)
  return {
    worker,
    isTenant: tenant !== undefined,
    // The Worker Loader needs a paid plan; a deployment without it works, plugins on islands are off.
    withoutIsolates,
    location,
    databases: (config.d1_databases ?? []).map((entry, index) => ({
      binding: entry.binding,
      name: given(entry.database_name) ?? (index === 0 ? worker : worker + suffix(entry.binding)),
      id: given(entry.database_id),
      migrations: entry.migrations_dir,
    })),
    namespaces: (config.kv_namespaces ?? []).map(({ binding, id }) => ({
      binding,
      name: worker + suffix(binding),
      id: given(id),
    })),
    configPath: join(files, 'wrangler.json'),
    keysPath: join(files, 'keys'),
  }
}

/** Left out of every configuration that is made, and of a tenant's: two Workers cannot answer at one address. */
const local = ['dev', '$schema', 'env']
const addresses = ['route', 'routes']

/**
 * The tenant's configuration: wrangler.toml with the tenant's names and ids, its paths as seen from the new file.
 * @param found `account` and, by binding, the ids of databases and namespaces; unknown ids are left out.
 */
export function tenantConfig(
  config: Config,
  plan: TenantPlan,
  found: { readonly account?: string; readonly ids?: Readonly<Record<string, string>> } = {},
): Config {
  const { account, ids = {} } = found
  const folder = dirname(plan.configPath)
  const from = (path: string) => relative(folder, resolve(root, path)).split(sep).join('/')
  const left = [
    ...local,
    ...(plan.isTenant ? addresses : []),
    ...(plan.withoutIsolates ? ['worker_loaders'] : []),
  ]
  const kept = Object.entries(config).filter(([name]) => !left.includes(name))
  const aliases = Object.entries(config.alias ?? {}).map(([name, path]) => [
    name,
    path.startsWith('.') ? `./${from(path)}` : path,
  ])
  const nameOf = (binding: string) =>
    plan.databases.find((entry) => entry.binding === binding)?.name
  return {
    ...Object.fromEntries(kept),
    name: plan.worker,
    ...(config.main !== undefined && { main: from(config.main) }),
    ...(config.alias && { alias: Object.fromEntries(aliases) }),
    ...(account && { account_id: account }),
    ...(plan.location && {
      vars: { ...Object(config['vars']), ISOLA_LOCATION: plan.location },
    }),
    ...(config.assets?.directory && {
      assets: { ...config.assets, directory: from(config.assets.directory) },
    }),
    // JSON leaves out an id that is undefined.
    d1_databases: (config.d1_databases ?? []).map((entry) => ({
      ...entry,
      database_name: nameOf(entry.binding),
      database_id: ids[entry.binding],
      ...(entry.migrations_dir && { migrations_dir: from(entry.migrations_dir) }),
    })),
    kv_namespaces: (config.kv_namespaces ?? []).map((entry) => ({
      ...entry,
      id: ids[entry.binding],
    })),
  }
}

/** Writes it where git does not look. */
export function writeConfig(path: string, config: unknown): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`)
}

/** The account that this tenant was deployed to before, if this machine knows. */
export function knownAccount({ configPath }: Pick<TenantPlan, 'configPath'>): string | undefined {
  if (!existsSync(configPath)) return undefined
  try {
    return JSON.parse(readFileSync(configPath, 'utf8')).account_id
  } catch {
    return undefined // made again below
  }
}
