import type { PluginStore } from '#runtime/catalog/types/plugin-store.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/outage.ts'

/**
 * The number of the generation in force at the moment ?1. An extension's row was in force then or later if its
 * `until` is open or above this number. A clock that was set back only keeps more.
 */
const generationThen = `
  SELECT coalesce((SELECT min(number) - 1 FROM generations WHERE made_at_ms > ?1),
    (SELECT max(number) FROM generations), 0)`

/** Every kind of pin that has a stored body names it by `hash`. D1 allows no long UNION. */
const unnamed = `
  SELECT hash FROM plugin_bundles WHERE part = 0 AND saved_at_ms < ?1
    AND hash NOT IN (SELECT hash FROM manifests WHERE state <> 'removed')
    AND hash NOT IN (SELECT hash FROM skills WHERE state <> 'removed')
    AND hash NOT IN (SELECT hash FROM skill_versions WHERE installed_at_ms >= ?1 AND collected_at_ms IS NULL)
    AND hash NOT IN (SELECT approved_hash FROM mcp_servers WHERE state <> 'removed' AND approved_hash IS NOT NULL)
    AND hash NOT IN (SELECT hash FROM plugin_versions WHERE installed_at_ms >= ?1 AND collected_at_ms IS NULL)
    AND hash NOT IN (SELECT pin->>'hash' FROM generation_parts
      WHERE pin->>'hash' IS NOT NULL AND (until IS NULL OR until > (${generationThen})))
  LIMIT ?2`

/** Finds bundles that no extension, version or recent generation names any more. */
export function createKeptVersions(database: Database): Pick<PluginStore, 'unnamed'> {
  return {
    async unnamed(beforeMs, limit) {
      const { results } = await reached(() =>
        database.prepare(unnamed).bind(beforeMs, limit).all<{ readonly hash: string }>(),
      )
      return results.map(({ hash }) => hash)
    },
  }
}
