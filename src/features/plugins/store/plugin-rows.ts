import type { JsonObject } from '#contracts/json.ts'
import type { Permit } from '#runtime/catalog/types/permit.ts'
import type {
  KeptPluginVersion,
  NewPluginVersion,
  PluginRow,
  PluginVersion,
} from '#runtime/catalog/types/plugin-catalog.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/database.ts'

/** Creates the reader of rows; it throws `request_unavailable` while the database is away. */
export const readerOf =
  (database: Database) =>
  async <StoredRow>(
    sql: string,
    ...values: readonly (string | number)[]
  ): Promise<readonly StoredRow[]> => {
    const query = () =>
      database
        .prepare(sql)
        .bind(...values)
        .all<StoredRow>()
    return (await reached(query)).results
  }

/** Columns of `manifests`, as `toRow` reads them and `toColumns` writes them. */
export const rowColumns =
  'id, version, hash, tier, manifest, state, permit, permit_hash, grant_epoch, config, problem, ' +
  'owner, waiting, told_hash'
/** Columns of `plugin_versions` for a list, and all columns. */
export const listedColumns =
  'plugin, hash, version, tier, source, signer, installed_by, installed_at_ms'
export const versionColumns = `${listedColumns}, manifest, size_bytes`

/** A row of `manifests`. */
export interface StoredRow {
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
  readonly waiting: string | null
  readonly told_hash: string | null
}

export function toRow({
  permit,
  permit_hash: permitHash,
  grant_epoch: grantEpoch,
  told_hash: toldHash,
  ...row
}: StoredRow): PluginRow {
  const { id, version, hash, tier, state, config, problem, owner, waiting } = row
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
    ...(waiting !== null && { waiting: JSON.parse(waiting) as readonly string[] }),
    ...(toldHash !== null && { toldHash }),
  }
}

const jsonOrNull = (value: unknown): string | null =>
  value === undefined ? null : JSON.stringify(value)

export const toColumns = (row: PluginRow) => [
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
  row.waiting?.length ? JSON.stringify(row.waiting) : null,
  row.toldHash ?? null,
]

/** A row of `plugin_versions` in a list. */
export interface ListedVersionRow {
  readonly plugin: string
  readonly hash: string
  readonly version: string
  readonly tier: NewPluginVersion['tier']
  readonly source: string
  readonly signer: string | null
  readonly installed_by: string
  readonly installed_at_ms: number
}

/** A whole row of `plugin_versions`. */
export interface VersionRow extends ListedVersionRow {
  readonly manifest: string
  readonly size_bytes: number
}

export function toVersion(
  row: ListedVersionRow,
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

export const toKeptVersion = (row: VersionRow): KeptPluginVersion => ({
  ...toVersion(row),
  manifest: JSON.parse(row.manifest) as unknown,
  sizeBytes: row.size_bytes,
})

export const toVersionColumns = (plugin: KeptPluginVersion) => [
  plugin.id,
  plugin.hash,
  plugin.version,
  plugin.tier,
  plugin.source,
  plugin.signer ?? null,
  plugin.installedBy,
  plugin.installedAtMs,
  JSON.stringify(plugin.manifest),
  plugin.sizeBytes,
]
