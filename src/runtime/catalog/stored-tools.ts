import type { PluginProblem } from '#contracts/operations.ts'
import type { ListedTool } from '#runtime/catalog/types/tool.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { ReadSearchDocument } from '#contracts/search.ts'

const tables = [
  `CREATE TABLE IF NOT EXISTS tools (${tablesMark} name TEXT PRIMARY KEY, owner TEXT NOT NULL, place INTEGER NOT NULL,
    tool TEXT NOT NULL, words TEXT) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS tools_owner ON tools (owner)',
  `CREATE TABLE IF NOT EXISTS needs (${tablesMark} needed TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (needed, owner))
    WITHOUT ROWID`,
]

/** The index of one part, made when it was wired. */
export interface IndexedPart {
  readonly id: string
  /** Ids of the parts that it cannot be wired without, whether they are installed or not. */
  readonly needs: readonly string[]
  /** Each tool with its search document. A tool without one is not searched. */
  readonly tools: readonly {
    readonly tool: ListedTool
    readonly words: ReadSearchDocument | undefined
  }[]
  readonly problems: readonly PluginProblem[]
}

const bare = (pattern: string) => (pattern.endsWith('*') ? pattern.slice(0, -1) : pattern)
const fits = (pattern: string) =>
  pattern.endsWith('*') ? 'name >= ?1 AND name < ?1 || char(1114111)' : 'name = ?1'

/** The tools of the stored parts, in tables of their own, as far as they were indexed. */
export function createStoredTools(sql: SqlStorage) {
  for (const table of tables) sql.exec(table)
  const listed = (query: string, ...values: string[]): readonly ListedTool[] =>
    sql
      .exec<{ readonly tool: string }>(query, ...values)
      .toArray()
      .map(({ tool }) => JSON.parse(tool) as ListedTool)
  let revision = 0
  const hasTools = (id: string) =>
    listed('SELECT tool FROM tools WHERE owner = ? LIMIT 1', id).length > 0
  return {
    /** Counts up when tools are added or removed. */
    revision: () => revision,
    /** Drops the tools of a part. It is indexed again, and so are the parts that were wired with it. */
    forget(id: string): void {
      revision += 1
      sql.exec(
        'UPDATE parts SET indexed = 0 WHERE id = ?1 OR id IN (SELECT owner FROM needs WHERE needed = ?1)',
        id,
      )
      sql.exec('DELETE FROM tools WHERE owner = ?', id)
    },
    /** Ids of parts that are not indexed yet. */
    missing: (): readonly string[] =>
      sql
        .exec<{ readonly id: string }>('SELECT DISTINCT id FROM parts WHERE indexed = 0')
        .toArray()
        .map(({ id }) => id),
    problems: (): readonly PluginProblem[] =>
      sql
        .exec<{ readonly problems: string }>(
          'SELECT DISTINCT problems FROM parts WHERE problems IS NOT NULL',
        )
        .toArray()
        .flatMap(({ problems }) => JSON.parse(problems) as readonly PluginProblem[]),
    put({ id, needs, tools, problems }: IndexedPart): void {
      // A part without a bundle is indexed again and again, and never has tools: no change of the index.
      if (tools.length > 0 || hasTools(id)) revision += 1
      sql.exec('DELETE FROM tools WHERE owner = ?', id)
      sql.exec('DELETE FROM needs WHERE owner = ?', id)
      for (const needed of needs)
        sql.exec('INSERT OR REPLACE INTO needs (needed, owner) VALUES (?, ?)', needed, id)
      for (const [place, { tool, words }] of tools.entries())
        sql.exec(
          'INSERT OR REPLACE INTO tools (name, owner, place, tool, words) VALUES (?, ?, ?, ?, ?)',
          tool.name,
          id,
          place,
          JSON.stringify(tool),
          words ? JSON.stringify(words) : null,
        )
      // A part whose bundle could not be read is indexed again at the next search.
      const isLost = problems.some(({ code }) => code === 'plugin_code_unavailable')
      const told = problems.length > 0 ? JSON.stringify(problems) : null
      sql.exec('UPDATE parts SET indexed = ?, problems = ? WHERE id = ?', isLost ? 0 : 1, told, id)
    },
    /** The search document of each tool, in the order of their owners. Tools without one are left out. */
    searched: (): readonly ReadSearchDocument[] =>
      sql
        .exec<{ readonly words: string }>(
          'SELECT words FROM tools WHERE words IS NOT NULL ORDER BY owner, place',
        )
        .toArray()
        .map(({ words }) => JSON.parse(words) as ReadSearchDocument),
    /** The tools of one name, or of one prefix (`kv__*`). */
    like: (pattern: string) =>
      listed(`SELECT tool FROM tools WHERE ${fits(pattern)}`, bare(pattern)),
    /** The names alone. */
    namesLike: (pattern: string): readonly string[] =>
      sql
        .exec<{ readonly name: string }>(
          `SELECT name FROM tools WHERE ${fits(pattern)}`,
          bare(pattern),
        )
        .toArray()
        .map(({ name }) => name),
  }
}
