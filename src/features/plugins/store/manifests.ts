import type { TrustTier } from '#contracts/manifest/manifest.ts'
import type { Database } from '#platform/d1/database.ts'

/** Where a plugin stands in its life. */
export type ManifestState = 'installed' | 'enabled' | 'disabled' | 'removed'

/** A plugin as this deployment has it. */
export interface ManifestRecord {
  readonly id: string
  readonly version: string
  /** sha-256 of what it is made of, lowercase hex. */
  readonly hash: string
  readonly tier: TrustTier
  /** As its author wrote it, parsed. */
  readonly manifest: unknown
  readonly state: ManifestState
}

/** Reads and writes what is installed. */
export interface ManifestStore {
  /** Makes the table agree with what this version of the Worker carries. Changes nothing the second time. */
  readonly syncBundled: (bundled: readonly Omit<ManifestRecord, 'tier'>[]) => Promise<void>
  readonly list: () => Promise<readonly ManifestRecord[]>
}

// What the operator switched off stays off; what another tier installed under this id is not taken over.
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

/** The table of what is installed (M5). */
export function createManifestStore(
  database: Database,
  clock: { readonly nowMs: () => number },
): ManifestStore {
  return {
    async syncBundled(bundled) {
      const values = [JSON.stringify(bundled), clock.nowMs()] as const
      await database.batch(
        [upsert, removeOthers].map((sql) => database.prepare(sql).bind(...values)),
      )
    },
    async list() {
      const sql = 'SELECT id, version, hash, tier, manifest, state FROM manifests ORDER BY id'
      const { results } = await database.prepare(sql).all<ManifestRow>()
      return results.map((row) => ({ ...row, manifest: JSON.parse(row.manifest) as unknown }))
    },
  }
}

type ManifestRow = Omit<ManifestRecord, 'manifest'> & { readonly manifest: string }
