import { headOf } from '#contracts/cut.ts'
import type { JsonValue, PluginDatabase } from '#contracts/plugin.ts'
import { ToolError } from '#contracts/plugin.ts'
import type { RequestedGrants } from '#contracts/manifest/manifest.ts'
import type { ToolManifest } from '../../types/manifest.ts'
import { jsonSizeBytes, toJson } from '../../sandbox/json-border.ts'
import { parseStatement } from './sql-statement.ts'

const maxRows = 1_000
const maxBytes = 256 * 1024
const maxParameters = 100
/** The deployment's own tables are here: no setting opens this binding. */
const ownBinding = 'DB'

/** The part of D1 that a plugin's database needs. */
export interface PluginD1 {
  readonly prepare: (sql: string) => {
    readonly bind: (...values: (string | number | null)[]) => {
      readonly all: () => Promise<{
        readonly results: readonly unknown[]
        readonly meta?: { readonly changes?: number }
      }>
    }
  }
}

/** Databases that the operator opened for plugins, by binding. */
export type PluginDatabases = ReadonlyMap<string, PluginD1>

/** The bindings of D1 databases with these names, without the deployment's own. */
export function toPluginDatabases(names: readonly string[], env: object): PluginDatabases {
  const own: unknown = Reflect.get(env, ownBinding)
  const found = names.flatMap((name) => {
    const binding: unknown = Reflect.get(env, name)
    const isOwn = name === ownBinding || binding === own
    return !isOwn && isDatabase(binding) ? [[name, binding] as const] : []
  })
  return new Map(found)
}

function isDatabase(value: unknown): value is PluginD1 {
  return (
    typeof value === 'object' &&
    value !== null &&
    'prepare' in value &&
    typeof value.prepare === 'function'
  )
}

/** The grants of one tool: a tool that declares itself read-only may not write to the database. */
export function grantsOfTool(
  granted: RequestedGrants,
  { annotations }: ToolManifest,
): RequestedGrants {
  const { database } = granted
  if (database?.access !== 'write' || annotations.readOnlyHint !== true) return granted
  return { ...granted, database: { ...database, access: 'read' } }
}

/** SQL on the operator's database: one statement a call, values bound by position, rows and bytes capped. */
export function createGrantedDatabase(
  { binding, access }: NonNullable<RequestedGrants['database']>,
  databases: PluginDatabases,
): PluginDatabase {
  return {
    query: async (sql, parameters = []) => {
      const { kind, text } = parseStatement(sql, access)
      const values = parseParameters(parameters)
      const database = databases.get(binding)
      if (!database) throw noDatabase(binding)
      // A subquery cannot write, whatever its text says. EXPLAIN runs nothing, and cannot be a subquery.
      const isWrapped =
        kind === 'SELECT' || kind === 'VALUES' || (kind === 'WITH' && access === 'read')
      const one = isWrapped ? `SELECT * FROM (${text}\n) LIMIT ${maxRows + 1}` : text
      const { results, meta } = await run(database, one, values)
      return { ...capped(results), changes: access === 'write' ? (meta?.changes ?? 0) : 0 }
    },
  }
}

function parseParameters(parameters: unknown): (string | number | null)[] {
  const isValue = (value: unknown): value is string | number | null =>
    value === null || typeof value === 'string' || Number.isFinite(value)
  if (Array.isArray(parameters) && parameters.length <= maxParameters && parameters.every(isValue))
    return parameters
  throw new ToolError('tool_failed', {
    message: `parameters: a list of at most ${maxParameters} texts, numbers and nulls.`,
  })
}

async function run(database: PluginD1, sql: string, values: (string | number | null)[]) {
  try {
    return await database
      .prepare(sql)
      .bind(...values)
      .all()
  } catch (error) {
    throw toFailure(error)
  }
}

/** SQLite's message is about the statement, and safe to show; any other fault gets a general message. */
function toFailure(error: unknown): ToolError {
  const text = error instanceof Error ? error.message : ''
  const said = /^D1_ERROR: (.*?)(?:: SQLITE_\w+.*)?$/s.exec(text)?.[1]
  const isSqlite = said !== undefined && /SQLITE_/.test(text)
  return new ToolError('tool_failed', {
    message: isSqlite ? `SQLite: ${headOf(said, 300)}` : 'The database did not answer.',
    transient: !isSqlite,
  })
}

function capped(results: readonly unknown[]): {
  readonly rows: readonly JsonValue[]
  readonly truncated: boolean
} {
  const rows: JsonValue[] = []
  let sizeBytes = 0
  for (const result of results.slice(0, maxRows)) {
    const row = toJson(result)
    sizeBytes += jsonSizeBytes(row)
    if (sizeBytes > maxBytes) return { rows, truncated: true }
    rows.push(row)
  }
  return { rows, truncated: results.length > maxRows }
}

function noDatabase(binding: string): ToolError {
  return new ToolError('tool_failed', {
    message: `There is no database "${binding}" for plugins. Its operator adds a [[d1_databases]] section with binding = "${binding}" to wrangler.toml, sets ISOLA_SQL_DATABASES=${binding} and deploys again.`,
  })
}
