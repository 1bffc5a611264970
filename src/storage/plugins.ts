import type { PluginStore } from '#contracts/plugin-catalog.ts'
import type { Database, Statement } from './database.ts'
import { eventRow } from './deployment-log.ts'
import { createGenerations, generationRows } from './generations.ts'
import { createKeptVersions } from './kept-versions.ts'
import { mcpServerRow } from './mcp-servers.ts'
import { reached } from './outage.ts'
import {
  rowColumns,
  toColumns,
  toRow,
  toVersion,
  toVersionColumns,
  versionColumns,
  type Row,
  type VersionRow,
} from './plugin-rows.ts'

const upsert = `
  INSERT INTO manifests (${rowColumns}, updated_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
  ON CONFLICT (id) DO UPDATE SET (version, hash, tier, manifest, state, permit, permit_hash, grant_epoch, config,
    problem, owner, updated_at_ms) = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`
// The same bundle again is the same version, and stays as it came first; only a signature may be added to it. One that
// was collected comes anew.
const insertVersion = `
  INSERT INTO plugin_versions (${versionColumns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
  ON CONFLICT (plugin, hash) DO UPDATE SET
    tier = iif(?6 IS NULL AND collected_at_ms IS NULL, tier, ?4), signer = iif(?6 IS NULL AND collected_at_ms IS NULL, signer, ?6),
    installed_by = iif(collected_at_ms IS NULL, installed_by, ?8),
    installed_at_ms = iif(collected_at_ms IS NULL, installed_at_ms, ?9),
    source = iif(collected_at_ms IS NULL, source, ?5), manifest = ?7, size_bytes = ?10, collected_at_ms = NULL
  WHERE ?6 IS NOT NULL OR collected_at_ms IS NOT NULL`

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
    async ids() {
      const sql = `SELECT id FROM manifests WHERE state <> 'removed' ORDER BY id`
      return (await all<{ readonly id: string }>(sql)).map(({ id }) => id)
    },
    async versions(id) {
      // Of each plugin so many: nobody pushes another's out of sight.
      const sql = `SELECT ${versionColumns} FROM (SELECT *, row_number() OVER (PARTITION BY plugin
          ORDER BY installed_at_ms DESC, hash) AS place FROM plugin_versions
          WHERE collected_at_ms IS NULL AND (?1 IS NULL OR plugin = ?1))
        WHERE place <= 100 ORDER BY installed_at_ms DESC, hash`
      return (await all<VersionRow>(sql, id ?? null)).map(toVersion)
    },
    async version(id, hash) {
      const sql = `SELECT ${versionColumns} FROM plugin_versions
        WHERE plugin = ?1 AND hash = ?2 AND collected_at_ms IS NULL`
      const [row] = await all<VersionRow>(sql, id, hash)
      const sizeBytes = row?.size_bytes ?? 0
      return row && { ...toVersion(row), manifest: JSON.parse(row.manifest) as unknown, sizeBytes }
    },
    async numbers(id) {
      const sql = 'SELECT version, hash, signer FROM plugin_versions WHERE plugin = ?1'
      const rows = await all<Pick<VersionRow, 'version' | 'hash' | 'signer'>>(sql, id)
      return rows.map(({ signer, ...row }) => ({ ...row, ...(signer !== null && { signer }) }))
    },
    ...createKeptVersions(database),
    ...createGenerations(database),
    async commit({ rows, version, servers = [], generation, event }) {
      const { principal, atMs } = event
      const statements: Statement[] = [
        ...rows.map((row) => database.prepare(upsert).bind(...toColumns(row), atMs)),
        ...servers.map((server) => mcpServerRow(database, server)),
        eventRow(database, event),
      ]
      if (version)
        statements.push(database.prepare(insertVersion).bind(...toVersionColumns(version)))
      if (generation)
        statements.push(...(await generationRows(database, generation, { principal, atMs })))
      await reached(() => database.batch(statements))
    },
  }
}
