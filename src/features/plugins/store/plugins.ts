import type { PluginStore, PluginRow } from '#runtime/catalog/types/plugin-catalog.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import { bundleRows } from './bundles.ts'
import { createChangeFacts, versionOf, rowOf } from './change-facts.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import { createGenerations, generationRows } from './generations.ts'
import { mcpServerRow } from '#features/mcp-servers/store/mcp-servers.ts'
import { skillRows } from '#features/skills/store/skills.ts'
import {
  listedColumns,
  rowColumns,
  toColumns,
  toKeptVersion,
  toRow,
  toVersion,
  toVersionColumns,
  versionColumns,
  type ListedVersionRow,
  type StoredRow,
  type VersionRow,
  readerOf,
} from './plugin-rows.ts'

/**
 * The number of the generation in force at the moment ?1. An extension's row was in force then or later if its
 * `until` is open or above this number. A clock that was set back only keeps more.
 */
const generationThen = `
  SELECT coalesce((SELECT min(number) - 1 FROM generations WHERE made_at_ms > ?1),
    (SELECT max(number) FROM generations), 0)`

/**
 * Bundles that no extension, version or recent generation names any more. Every kind of pin that has a stored body
 * names it by `hash`. D1 allows no long UNION.
 */
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

const upsert = `
  INSERT INTO manifests (${rowColumns}, updated_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
  ON CONFLICT (id) DO UPDATE SET (version, hash, tier, manifest, state, permit, permit_hash, grant_epoch, config,
    problem, owner, waiting, told_hash, updated_at_ms) = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`
// Uploading the same bundle again changes nothing of its version, except that a signature may be added. A collected
// version is written anew.
const insertVersion = `
  INSERT INTO plugin_versions (${versionColumns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
  ON CONFLICT (plugin, hash) DO UPDATE SET
    tier = iif(?6 IS NULL AND collected_at_ms IS NULL, tier, ?4),
    signer = iif(?6 IS NULL AND collected_at_ms IS NULL, signer, ?6),
    installed_by = iif(collected_at_ms IS NULL, installed_by, ?7),
    installed_at_ms = iif(collected_at_ms IS NULL, installed_at_ms, ?8),
    source = iif(collected_at_ms IS NULL, source, ?5), manifest = ?9, size_bytes = ?10, collected_at_ms = NULL
  WHERE ?6 IS NOT NULL OR collected_at_ms IS NOT NULL`

const versionsOf = `
  SELECT ${listedColumns} FROM plugin_versions WHERE plugin = ?1 AND collected_at_ms IS NULL
  ORDER BY installed_at_ms DESC, hash LIMIT 100`

const manifestsAtOnce = 50

/** The tables of installed plugins, their versions, and the generations. */
export function createPluginStore(database: Database): PluginStore {
  const all = readerOf(database)
  return {
    async find(id) {
      const [row] = await all<StoredRow>(rowOf, id)
      return row && toRow(row)
    },
    list: async () =>
      (await all<StoredRow>(`SELECT ${rowColumns} FROM manifests ORDER BY id`)).map(toRow),
    async page(after, limit) {
      const sql = `SELECT ${rowColumns} FROM manifests
        WHERE state <> 'removed' AND id > ?1 ORDER BY id LIMIT ?2`
      return (await all<StoredRow>(sql, after, limit)).map(toRow)
    },
    async failed() {
      const sql = `SELECT id AS plugin, problem FROM manifests
        WHERE problem IS NOT NULL AND state <> 'removed' ORDER BY id`
      const rows = await all<{ readonly plugin: string; readonly problem: string }>(sql)
      return rows.map(({ plugin, problem }) => ({
        plugin,
        ...(JSON.parse(problem) as NonNullable<PluginRow['problem']>),
      }))
    },
    async mentioning(word) {
      const sql = `SELECT ${rowColumns} FROM manifests
        WHERE state = 'enabled' AND instr(manifest, ?1) > 0 ORDER BY id`
      return (await all<StoredRow>(sql, word)).map(toRow)
    },
    async ids() {
      const sql = `SELECT id FROM manifests WHERE state <> 'removed' ORDER BY id`
      return (await all<{ readonly id: string }>(sql)).map(({ id }) => id)
    },
    async versions(ids) {
      if (ids.length === 0) return []
      // The limit is for each plugin, so that one with many versions does not push another's off the list.
      const sql = `SELECT ${listedColumns} FROM (SELECT *, row_number() OVER (PARTITION BY plugin
          ORDER BY installed_at_ms DESC, hash) AS place FROM plugin_versions
          WHERE collected_at_ms IS NULL AND plugin IN (SELECT value FROM json_each(?1)))
        WHERE place <= 100 ORDER BY installed_at_ms DESC, hash`
      return (await all<ListedVersionRow>(sql, JSON.stringify(ids))).map(toVersion)
    },
    async version(id, hash) {
      const [row] = await all<VersionRow>(versionOf, id, hash)
      return row && toKeptVersion(row)
    },
    async manifests(of) {
      const sql = `SELECT plugin, manifest FROM plugin_versions WHERE collected_at_ms IS NULL
        AND (plugin, hash) IN (SELECT value->>'id', value->>'hash' FROM json_each(?1))`
      const found = new Map<string, unknown>()
      // In batches: a manifest may be a quarter of a megabyte.
      for (let at = 0; at < of.length; at += manifestsAtOnce) {
        const some = of.slice(at, at + manifestsAtOnce).map(({ id, hash }) => ({ id, hash }))
        const rows = await all<Pick<VersionRow, 'plugin' | 'manifest'>>(sql, JSON.stringify(some))
        for (const { plugin, manifest } of rows) found.set(plugin, JSON.parse(manifest))
      }
      return found
    },
    facts: createChangeFacts(database),
    async unnamed(beforeMs, limit) {
      return (await all<{ readonly hash: string }>(unnamed, beforeMs, limit)).map(
        ({ hash }) => hash,
      )
    },
    ...createGenerations(database),
    async commit({ rows, version, bundle, servers = [], generation, event, view, ...change }) {
      const { principal, atMs } = event
      const { skills = [], skillVersion } = change
      const written: readonly Statement[] = [
        ...(bundle ? bundleRows(database, { ...bundle, atMs }) : []),
        ...rows.map((row) => database.prepare(upsert).bind(...toColumns(row), atMs)),
        ...servers.map((server) => mcpServerRow(database, server)),
        ...skillRows(database, skills, skillVersion),
        eventRow(database, event),
        ...(version ? [database.prepare(insertVersion).bind(...toVersionColumns(version))] : []),
        ...(generation ? generationRows(database, generation, { principal, atMs }) : []),
      ]
      const shown =
        view === undefined ? [] : [rowOf, versionsOf].map((sql) => database.prepare(sql).bind(view))
      const found = await reached(() => database.batch([...written, ...shown]))
      const [row, versions] = found.slice(written.length).map(({ results }) => results)
      const [after] = (row ?? []) as unknown as readonly StoredRow[]
      return {
        ...(after && { row: toRow(after) }),
        versions: ((versions ?? []) as unknown as readonly ListedVersionRow[]).map(toVersion),
      }
    },
  }
}
