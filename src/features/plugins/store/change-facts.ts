import type { ChangeFacts, PluginStore } from '#runtime/catalog/types/plugin-catalog.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import {
  rowColumns,
  toKeptVersion,
  toRow,
  versionColumns,
  type StoredRow,
  type VersionRow,
} from './plugin-rows.ts'

/** The row of a plugin. */
export const rowOf = `SELECT ${rowColumns} FROM manifests WHERE id = ?1`
/** Whether the id belongs to a remote server, or to an agent without a plugin. */
const othersOf = `
  SELECT 'server' AS kind FROM mcp_servers WHERE id = ?1 AND state <> 'removed'
  UNION ALL SELECT 'agent' FROM agents WHERE id = ?1 AND state <> 'deleted'`
const numbersOf = 'SELECT version, hash, signer FROM plugin_versions WHERE plugin = ?1'
/** A version whose bundle is still stored. */
export const versionOf = `
  SELECT ${versionColumns} FROM plugin_versions WHERE plugin = ?1 AND hash = ?2 AND collected_at_ms IS NULL`
const usageOf = 'SELECT versions, bytes FROM plugin_usage WHERE principal = ?1'
/** Counted on the record, because uploading the same content again adds no row but still counts. */
const addsOf = `
  SELECT count(*) AS adds, min(at_ms) AS first FROM (
    SELECT at_ms FROM audit
      WHERE at_ms > ?2 AND session = '' AND principal = ?1 AND type = 'plugin_added' AND data->>'accepted' IS NULL
    UNION ALL SELECT at_ms FROM audit
      WHERE at_ms > ?2 AND session = '' AND principal = ?1 AND type = 'skill_added')`

/** The facts for deciding a change: read in one transaction, each by an index. */
export function createChangeFacts(database: Database): PluginStore['facts'] {
  return async ({ id = '', hash = '', usageOf: brings }) => {
    const of = (sql: string, ...values: readonly (string | number)[]): Statement =>
      database.prepare(sql).bind(...values)
    const about = [of(rowOf, id), of(othersOf, id), of(numbersOf, id), of(versionOf, id, hash)]
    const used = brings && [
      of(usageOf, brings.principal),
      of(addsOf, brings.principal, brings.sinceMs),
    ]
    const found = await reached(() => database.batch([...about, ...(used ?? [])]))
    const rows = <T>(place: number) => (found[place]?.results ?? []) as unknown as readonly T[]
    const [row] = rows<StoredRow>(0)
    const [version] = rows<VersionRow>(3)
    const others = rows<{ readonly kind: string }>(1).map(({ kind }) => kind)
    return {
      ...(row && { row: toRow(row) }),
      isServer: others.includes('server'),
      isAgent: others.includes('agent'),
      numbers: rows<Pick<VersionRow, 'version' | 'hash' | 'signer'>>(2).map(
        ({ signer, ...number }) => ({ ...number, ...(signer !== null && { signer }) }),
      ),
      ...(version && { version: toKeptVersion(version) }),
      usage: toUsage(rows<UsageRow>(4)[0], rows<AddsRow>(5)[0]),
    }
  }
}

interface UsageRow {
  readonly versions: number
  readonly bytes: number
}

interface AddsRow {
  readonly adds: number
  readonly first: number | null
}

const toUsage = (kept: UsageRow | undefined, added: AddsRow | undefined): ChangeFacts['usage'] => ({
  versions: kept?.versions ?? 0,
  bytes: kept?.bytes ?? 0,
  adds: added?.adds ?? 0,
  ...(added?.first != null && { firstAddAtMs: added.first }),
})
