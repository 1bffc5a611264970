import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Database, Statement } from '../../src/platform/d1/database.ts'

type Value = string | number | null

/** How SQLite goes about a statement: which index it uses, what it reads as a whole. */
export const planOf = (sqlite: DatabaseSync, sql: string): string =>
  sqlite
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail))
    .join('\n')

/** SQLite in memory behind the part of D1 that storage uses, so that its SQL really runs. */
export function createSqliteDatabase(options: { readonly isMigrated?: boolean } = {}) {
  const sqlite = new DatabaseSync(':memory:')
  const statement = (sql: string, values: readonly Value[] = []): Statement => ({
    bind: (...bound) => statement(sql, bound),
    all: async <Row>() => ({ results: sqlite.prepare(sql).all(...values) as Row[] }),
    first: async <Row>() => (sqlite.prepare(sql).get(...values) as Row | undefined) ?? null,
    run: async () => sqlite.prepare(sql).run(...values),
  })
  const database: Database = {
    prepare: (sql) => statement(sql),
    batch: async (statements) => {
      sqlite.exec('BEGIN')
      try {
        const found = []
        for (const one of statements) found.push(await one.all<Record<string, unknown>>())
        sqlite.exec('COMMIT')
        return found
      } catch (error) {
        sqlite.exec('ROLLBACK')
        throw error
      }
    },
  }
  if (options.isMigrated !== false) {
    const folder = join(import.meta.dirname, '../../migrations')
    for (const name of readdirSync(folder).toSorted())
      sqlite.exec(readFileSync(join(folder, name), 'utf8'))
  }
  return { database, sqlite }
}
