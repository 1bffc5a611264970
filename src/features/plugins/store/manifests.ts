import type { Clock } from '#contracts/sources.ts'
import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { Database } from '#platform/d1/database.ts'

/** A plugin as installed in this deployment. */
interface ManifestRecord {
  readonly id: string
  readonly version: string
  /** sha-256 of the plugin's content, lowercase hex. */
  readonly hash: string
  readonly tier: TrustTier
  /** As the author wrote it, parsed. */
  readonly manifest: unknown
  readonly state: 'installed' | 'enabled' | 'disabled' | 'removed'
}

// A plugin that the operator switched off stays off; a plugin of another tier with the same id is not replaced.
const upsert = `
  INSERT INTO manifests (id, version, hash, tier, manifest, state, updated_at_ms)
  SELECT value->>'id', value->>'version', value->>'hash', 'builtin', value->'manifest', value->>'state', ?2
  FROM json_each(?1) WHERE true
  ON CONFLICT (id) DO UPDATE SET
    version = excluded.version, hash = excluded.hash, manifest = excluded.manifest,
    state = CASE manifests.state WHEN 'removed' THEN excluded.state ELSE manifests.state END,
    updated_at_ms = excluded.updated_at_ms
  WHERE manifests.tier = 'builtin' AND (manifests.hash <> excluded.hash OR manifests.state = 'removed')`

const removeOthers = `
  UPDATE manifests SET state = 'removed', updated_at_ms = ?2
  WHERE tier = 'builtin' AND state <> 'removed' AND id NOT IN (SELECT value->>'id' FROM json_each(?1))`

/** The table of installed plugins (M5). */
export function createManifestStore(
  database: Database,
  {
    clock,
    sha256,
  }: { readonly clock: Pick<Clock, 'nowMs'>; readonly sha256: (text: string) => string },
) {
  return {
    /**
     * Brings the table up to date with the plugins that ship with this version of the Worker. A repeated call changes
     * nothing.
     *
     * @param noted What an earlier call answered: with the same plugins the database is not asked.
     * @returns A hash of what the table has now.
     */
    async syncBundled(
      bundled: readonly Omit<ManifestRecord, 'tier'>[],
      noted?: string,
    ): Promise<string> {
      const text = JSON.stringify(bundled)
      const hash = sha256(text)
      if (hash === noted) return hash
      const values = [text, clock.nowMs()] as const
      await database.batch(
        [upsert, removeOthers].map((sql) => database.prepare(sql).bind(...values)),
      )
      return hash
    },
    async list(): Promise<readonly ManifestRecord[]> {
      const sql = 'SELECT id, version, hash, tier, manifest, state FROM manifests ORDER BY id'
      const { results } = await database
        .prepare(sql)
        .all<ManifestRecord & { readonly manifest: string }>()
      return results.map((row) => ({ ...row, manifest: JSON.parse(row.manifest) as unknown }))
    },
  }
}
