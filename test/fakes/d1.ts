import { createSqliteDatabase } from './sqlite-database.ts'
import type { PluginD1 } from '../../src/features/plugins/capabilities/storage/granted-database.ts'

/** SQLite in memory as a database that an operator grants: it answers, fails and counts like D1. */
export function createPluginD1(schema: string) {
  const { sqlite } = createSqliteDatabase({ isMigrated: false })
  sqlite.exec(schema)
  const asked: string[] = []
  const database: PluginD1 = {
    prepare: (sql) => ({
      bind: (...values) => ({
        all: async () => {
          asked.push(sql)
          try {
            const results = sqlite.prepare(sql).all(...values)
            const row = sqlite.prepare('SELECT changes() AS changes').get()
            return { results, meta: { changes: Number(row?.['changes']) } }
          } catch (error) {
            throw new Error(`D1_ERROR: ${(error as Error).message}: SQLITE_ERROR`, { cause: error })
          }
        },
      }),
    }),
  }
  return { database, sqlite, asked }
}
