import type {
  McpServerConfig,
  McpServerRow,
  McpServerState,
  McpServerStore,
} from '#runtime/catalog/types/mcp.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/outage.ts'

const columns = 'id, config, state, approved_hash, confirmed, epoch, added_by, added_at_ms'
const upsert = `
  INSERT INTO mcp_servers (${columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT (id) DO UPDATE SET (config, state, approved_hash, confirmed, epoch, added_by, added_at_ms) =
    (?2, ?3, ?4, ?5, ?6, ?7, ?8)`

/** The table of remote MCP servers. Its rows are written with the generation they belong to (`plugins.ts`). */
export function createMcpServerStore(database: Database): McpServerStore {
  const all = async (sql: string, ...values: readonly string[]) => {
    const query = () =>
      database
        .prepare(sql)
        .bind(...values)
        .all<Row>()
    return (await reached(query)).results.map(toRow)
  }
  return {
    async find(id) {
      const [row] = await all(`SELECT ${columns} FROM mcp_servers WHERE id = ?1`, id)
      return row
    },
    list: () => all(`SELECT ${columns} FROM mcp_servers WHERE state <> 'removed' ORDER BY id`),
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

interface Row {
  readonly id: string
  readonly config: string
  readonly state: McpServerState
  readonly approved_hash: string | null
  readonly confirmed: string
  readonly epoch: number
  readonly added_by: string
  readonly added_at_ms: number
}

const toRow = (row: Row): McpServerRow => ({
  id: row.id,
  config: JSON.parse(row.config) as McpServerConfig,
  state: row.state,
  ...(row.approved_hash !== null && { approvedHash: row.approved_hash }),
  confirmed: JSON.parse(row.confirmed) as readonly string[],
  epoch: row.epoch,
  addedBy: row.added_by,
  addedAtMs: row.added_at_ms,
})
