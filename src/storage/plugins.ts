import type { JsonObject } from '#contracts/json.ts'
import type { Exposure } from '#contracts/exposure.ts'
import type { Permit } from '#contracts/permit.ts'
import type {
  Generation,
  GenerationView,
  NewPluginVersion,
  PluginPin,
  PluginRow,
  PluginStore,
  PluginVersion,
} from '#contracts/plugin-catalog.ts'
import { defaultToolPolicy, type ToolPolicy } from '#contracts/tool-policy.ts'
import type { Database, Statement } from './database.ts'
import { eventRow } from './deployment-log.ts'
import { mcpServerRow } from './mcp-servers.ts'
import { reached } from './outage.ts'

const rowColumns =
  'id, version, hash, tier, manifest, state, permit, permit_hash, grant_epoch, config, problem, owner'
const upsert = `
  INSERT INTO manifests (${rowColumns}, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
  ON CONFLICT (id) DO UPDATE SET (version, hash, tier, manifest, state, permit, permit_hash, grant_epoch, config,
    problem, owner, updated_at_ms) = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`
const versionColumns =
  'plugin, hash, version, tier, source, signer, manifest, installed_by, installed_at_ms'
// The same bundle again is the same version, and stays as it came first; only a signature may be added to it.
const insertVersion = `
  INSERT INTO plugin_versions (${versionColumns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
  ON CONFLICT (plugin, hash) DO UPDATE SET (tier, signer) = (?4, ?6) WHERE ?6 IS NOT NULL`
const insertPolicy = `
  INSERT INTO policies (generation, policy, made_by, made_at_ms) VALUES (?1, ?2, ?3, ?4)`
const insertExposure = `
  INSERT INTO exposures (generation, exposure, made_by, made_at_ms) VALUES (?1, ?2, ?3, ?4)`
const insertGeneration = `
  INSERT INTO generations (number, plugins, reason, made_by, made_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)`

/** The tables of what is installed, which versions there are, and which sets of them were enabled. */
export function createPluginStore(database: Database): PluginStore {
  const all = async <Row>(sql: string, ...values: readonly (string | number | null)[]) => {
    const { results } = await reached(() =>
      database
        .prepare(sql)
        .bind(...values)
        .all<Row>(),
    )
    return results
  }
  return {
    async find(id) {
      const [row] = await all<Row>(`SELECT ${rowColumns} FROM manifests WHERE id = ?1`, id)
      return row && toRow(row)
    },
    list: async () =>
      (await all<Row>(`SELECT ${rowColumns} FROM manifests ORDER BY id`)).map(toRow),
    async versions(id) {
      // Of each plugin so many: nobody pushes another's out of sight.
      const sql = `SELECT ${versionColumns} FROM (SELECT *, row_number() OVER (PARTITION BY plugin
          ORDER BY installed_at_ms DESC, hash) AS place FROM plugin_versions WHERE ?1 IS NULL OR plugin = ?1)
        WHERE place <= 100 ORDER BY installed_at_ms DESC, hash`
      return (await all<VersionRow>(sql, id ?? null)).map(toVersion)
    },
    async version(id, hash) {
      const sql = `SELECT ${versionColumns} FROM plugin_versions WHERE plugin = ?1 AND hash = ?2`
      const [row] = await all<VersionRow>(sql, id, hash)
      return row && { ...toVersion(row), manifest: JSON.parse(row.manifest) as unknown }
    },
    numbered: (id, version) =>
      all(`SELECT hash FROM plugin_versions WHERE plugin = ?1 AND version = ?2`, id, version),
    async firstBy(id) {
      const sql = `SELECT installed_by FROM plugin_versions WHERE plugin = ?1 ORDER BY installed_at_ms, hash DESC LIMIT 1`
      const [row] = await all<Pick<VersionRow, 'installed_by'>>(sql, id)
      return row?.installed_by
    },
    async generation(number) {
      const sql = `SELECT number, plugins, (SELECT policy FROM policies WHERE generation <= number
          ORDER BY generation DESC LIMIT 1) AS policy, (SELECT exposure FROM exposures WHERE generation <= number
          ORDER BY generation DESC LIMIT 1) AS exposure FROM generations WHERE ?1 IS NULL OR number = ?1
        ORDER BY number DESC LIMIT 1`
      const [row] = await all<GenerationRow>(sql, number ?? null)
      return row && toGeneration(row)
    },
    async generations(limit) {
      const sql = `SELECT number, plugins, reason, made_by, made_at_ms FROM generations
        ORDER BY number DESC LIMIT ?1`
      return (await all<GenerationRow>(sql, limit)).map(toGenerationView)
    },
    async newest(kinds) {
      const sql = `SELECT reason, MAX(number) AS number FROM generations
        WHERE substr(reason, 1, instr(reason || ' ', ' ') - 1) IN (SELECT value FROM json_each(?1)) GROUP BY reason`
      const found = await all<{ reason: string; number: number }>(sql, JSON.stringify(kinds))
      return new Map(found.map(({ reason, number }) => [reason, number]))
    },
    async commit({ rows, version, servers = [], generation, event }) {
      const { principal, atMs } = event
      const statements: Statement[] = [
        ...rows.map((row) => database.prepare(upsert).bind(...toColumns(row), atMs)),
        ...servers.map((server) => mcpServerRow(database, server)),
        eventRow(database, event),
      ]
      if (version)
        statements.push(database.prepare(insertVersion).bind(...toVersionColumns(version)))
      if (generation) {
        const { number, installed, bundled, reason, policy, mcp, exposed } = generation
        const plugins = JSON.stringify({ installed, bundled, ...(mcp && { mcp }) })
        const insert = database.prepare(insertGeneration)
        statements.push(insert.bind(number, plugins, reason, principal, atMs))
        const change = database.prepare(insertPolicy)
        if (policy) statements.push(change.bind(number, JSON.stringify(policy), principal, atMs))
        const offer = database.prepare(insertExposure)
        if (exposed) statements.push(offer.bind(number, JSON.stringify(exposed), principal, atMs))
      }
      await reached(() => database.batch(statements))
    },
  }
}

interface Row {
  readonly id: string
  readonly version: string
  readonly hash: string
  readonly tier: PluginRow['tier']
  readonly manifest: string
  readonly state: PluginRow['state']
  readonly permit: string | null
  readonly permit_hash: string | null
  readonly grant_epoch: number
  readonly config: string | null
  readonly problem: string | null
  readonly owner: string | null
}

function toRow({
  permit,
  permit_hash: permitHash,
  grant_epoch: grantEpoch,
  ...row
}: Row): PluginRow {
  const { id, version, hash, tier, state, config, problem, owner } = row
  return {
    id,
    version,
    hash,
    tier,
    state,
    grantEpoch,
    manifest: JSON.parse(row.manifest) as unknown,
    config: JSON.parse(config ?? '{}') as JsonObject,
    ...(permit !== null && { permit: JSON.parse(permit) as Permit }),
    ...(permitHash !== null && { permitHash }),
    ...(problem !== null && { problem: JSON.parse(problem) as NonNullable<PluginRow['problem']> }),
    ...(owner !== null && { owner }),
  }
}

const jsonOrNull = (value: unknown): string | null =>
  value === undefined ? null : JSON.stringify(value)

const toColumns = (row: PluginRow) => [
  row.id,
  row.version,
  row.hash,
  row.tier,
  JSON.stringify(row.manifest),
  row.state,
  jsonOrNull(row.permit),
  row.permitHash ?? null,
  row.grantEpoch,
  JSON.stringify(row.config),
  jsonOrNull(row.problem),
  row.owner ?? null,
]

interface VersionRow {
  readonly plugin: string
  readonly hash: string
  readonly version: string
  readonly tier: NewPluginVersion['tier']
  readonly source: string
  readonly signer: string | null
  readonly manifest: string
  readonly installed_by: string
  readonly installed_at_ms: number
}

function toVersion(
  row: VersionRow,
): PluginVersion & { readonly id: string; readonly tier: NewPluginVersion['tier'] } {
  const { plugin: id, hash, version, tier, source, signer } = row
  return {
    id,
    hash,
    version,
    tier,
    source,
    ...(signer !== null && { signer }),
    installedAtMs: row.installed_at_ms,
    installedBy: row.installed_by,
  }
}

const toVersionColumns = (plugin: NewPluginVersion) => [
  plugin.id,
  plugin.hash,
  plugin.version,
  plugin.tier,
  plugin.source,
  plugin.signer ?? null,
  JSON.stringify(plugin.manifest),
  plugin.installedBy,
  plugin.installedAtMs,
]

interface GenerationRow {
  readonly number: number
  readonly plugins: string
  readonly policy?: string | null
  readonly exposure?: string | null
  readonly reason: string
  readonly made_by: string
  readonly made_at_ms: number
}

function toGeneration({
  number,
  plugins,
  policy,
  exposure,
}: Pick<GenerationRow, 'number' | 'plugins' | 'policy' | 'exposure'>): Generation {
  const { installed, bundled, mcp } = JSON.parse(plugins) as Omit<Generation, 'number'>
  return {
    number,
    installed,
    bundled,
    ...(mcp && { mcp }),
    // One of a version before says nothing of what came since.
    ...(typeof policy === 'string' && {
      policy: { ...defaultToolPolicy, ...(JSON.parse(policy) as Partial<ToolPolicy>) },
    }),
    ...(typeof exposure === 'string' && { exposed: JSON.parse(exposure) as Exposure }),
  }
}

function toGenerationView(row: GenerationRow): GenerationView {
  const { number, reason, made_by: madeBy, made_at_ms: madeAtMs } = row
  const plugins = toGeneration(row).installed.map(({ id, version }: PluginPin) => ({ id, version }))
  return { number, reason, madeBy, madeAtMs, plugins }
}
