import type { McpServerRow, McpServerStore } from '#runtime/catalog/types/mcp.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { rowsOf } from '#platform/d1/database.ts'

const select = `
  SELECT id, config, state, approved_hash AS approvedHash, confirmed, epoch, added_by AS addedBy,
    added_at_ms AS addedAtMs
  FROM mcp_servers`
const upsert = `
  INSERT INTO mcp_servers (id, config, state, approved_hash, confirmed, epoch, added_by, added_at_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT (id) DO UPDATE SET (config, state, approved_hash, confirmed, epoch, added_by, added_at_ms) =
    (?2, ?3, ?4, ?5, ?6, ?7, ?8)`

/** The table of remote MCP servers. Its rows are written with the generation they belong to (`plugins.ts`). */
export function createMcpServerStore(database: Database): McpServerStore {
  const all = async (rest: string, ...values: readonly string[]) =>
    (await rowsOf<Row>(database, `${select} ${rest}`, ...values)).map(toRow)
  return {
    find: async (id) => (await all('WHERE id = ?1', id))[0],
    list: () => all(`WHERE state <> 'removed' ORDER BY id`),
  }
}

/** The statement that writes a row, for one batch with the rest of a change. */
export const mcpServerRow = (database: Database, row: McpServerRow): Statement =>
  database
    .prepare(upsert)
    .bind(
      row.id,
      JSON.stringify(row.config),
      row.state,
      row.approvedHash ?? null,
      JSON.stringify(row.confirmed),
      row.epoch,
      row.addedBy,
      row.addedAtMs,
    )

interface Row extends Omit<McpServerRow, 'config' | 'confirmed'> {
  readonly config: string
  readonly confirmed: string
}

const toRow = ({ config, confirmed, ...row }: Row): McpServerRow => ({
  ...row,
  config: JSON.parse(config),
  confirmed: JSON.parse(confirmed),
})
