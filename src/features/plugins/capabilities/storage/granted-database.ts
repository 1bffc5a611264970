import { ToolError, type JsonValue, type PluginDatabase } from '#features/plugins/types/plugin.ts'
import { headOf } from '#contracts/cut.ts'
import type { RequestedGrants } from '#contracts/manifest/manifest.ts'
import type { ToolManifest } from '../../types/manifest.ts'
import { jsonSizeBytes, toJson } from '../../sandbox/json-border.ts'
import { failed } from '../../types/plugin-output.ts'

const maxSqlChars = 50_000

/** Statements by their first word, and the access they need. A statement in neither set does not run. */
const readers: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'VALUES', 'EXPLAIN'])
const writers: ReadonlySet<string> = new Set([
  'INSERT',
  'UPDATE',
  'DELETE',
  'REPLACE',
  'CREATE',
  'ALTER',
  'DROP',
])

/** Quoted texts and comments, by how they begin and end. A doubled end mark does not end the text. */
const pieces = [
  { begins: "'", ends: "'" },
  { begins: '"', ends: '"' },
  { begins: '`', ends: '`' },
  { begins: '[', ends: ']' },
  { begins: '--', ends: '\n' },
  { begins: '/*', ends: '*/' },
] as const

/**
 * Checks that a text is one statement of a kind that the access allows.
 *
 * @returns Its first word in capitals, and the statement without its final semicolon.
 * @throws ToolError with the reason, for the model.
 */
function parseStatement(sql: unknown, access: 'read' | 'write') {
  const { bare, text } = withoutQuoted(parseText(sql))
  const kind = /^\s*([a-z]+)/i.exec(bare)?.[1]?.toUpperCase() ?? ''
  if (readers.has(kind) || (access === 'write' && writers.has(kind))) return { kind, text }
  if (writers.has(kind))
    throw refused(`${kind} writes, and this may only read: SELECT, WITH, VALUES or EXPLAIN`)
  const running = [...readers, ...(access === 'write' ? writers : [])].join(', ')
  throw refused(`${kind || 'this'} is no statement that runs here: ${running}`)
}

function parseText(sql: unknown): string {
  if (typeof sql !== 'string' || sql.length > maxSqlChars)
    throw refused(`a statement is a text of at most ${maxSqlChars} characters`)
  // SQLite stops at a NUL, so the checked text would not be the text that runs.
  if (sql.includes('\0')) throw refused('it has a NUL character')
  return sql
}

/** The statement, and the same text with spaces in place of comments and quoted texts. */
function withoutQuoted(sql: string) {
  let bare = ''
  let end: number | undefined
  for (let at = 0; at < sql.length;) {
    const piece = pieces.find(({ begins }) => sql.startsWith(begins, at))
    const after = piece ? endOf(sql, at, piece) : at + 1
    const char = sql[at] ?? ''
    // A named parameter may have brackets around any text, in which a quote begins no string.
    if (!piece && /[$@#:]/.test(char)) throw refused(`parameters are ?, not ${char}name`)
    const isBlank = piece ? isComment(piece) : /[\s;]/.test(char)
    if (end !== undefined && !isBlank) throw refused('one statement at a time')
    if (!piece && char === ';') end ??= at
    bare += piece ? ' '.repeat(after - at) : char
    at = after
  }
  return { bare, text: sql.slice(0, end) }
}

const isComment = ({ begins }: (typeof pieces)[number]): boolean =>
  begins === '--' || begins === '/*'

function endOf(sql: string, start: number, { begins, ends }: (typeof pieces)[number]): number {
  for (let at = start + begins.length; ;) {
    const found = sql.indexOf(ends, at)
    if (found === -1) {
      if (begins === '--') return sql.length
      throw refused(`it has a ${begins} that does not end`)
    }
    const after = found + ends.length
    const isDoubled = begins === ends && sql.startsWith(ends, after)
    if (!isDoubled) return after
    at = after + ends.length
  }
}

const refused = (why: string): ToolError => failed(`The SQL was not run: ${why}.`)

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
  throw failed(`parameters: a list of at most ${maxParameters} texts, numbers and nulls.`)
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
  return isSqlite
    ? failed(`SQLite: ${headOf(said, 300)}`)
    : failed('The database did not answer.', true)
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

const noDatabase = (binding: string): ToolError =>
  failed(
    `There is no database "${binding}" for plugins. Its operator adds a [[d1_databases]] section with ` +
      `binding = "${binding}" to wrangler.toml, sets ISOLA_SQL_DATABASES=${binding} and deploys again.`,
  )
