import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Database, Statement } from '../../src/storage/database.ts'

type Value = string | number | null

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
      for (const one of statements) await one.run()
      sqlite.exec('COMMIT')
    },
  }
  if (options.isMigrated !== false) {
    sqlite.exec(readFileSync(join(import.meta.dirname, '../../migrations/0001_init.sql'), 'utf8'))
  }
  return { database, sqlite }
}
