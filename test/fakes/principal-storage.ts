import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { PrincipalStorage } from '../../src/features/access/principal-rows.ts'

/** SQLite in memory behind the part of a Durable Object's storage that principals use, so that the SQL really runs. */
export function createPrincipalStorage(): PrincipalStorage {
  const sqlite = new DatabaseSync(':memory:')
  const prepared = new Map<string, StatementSync>()
  const prepare = (query: string) => {
    const statement = prepared.get(query) ?? sqlite.prepare(query)
    prepared.set(query, statement)
    return statement
  }
  return {
    sql: {
      exec(query, ...values) {
        if (values.length > 0 || !query.includes(';')) {
          const rows = prepare(query).all(...values)
          return { toArray: () => rows }
        }
        sqlite.exec(query)
        return { toArray: () => [] }
      },
    },
    transactionSync(work) {
      sqlite.exec('BEGIN')
      try {
        const value = work()
        sqlite.exec('COMMIT')
        return value
      } catch (error) {
        sqlite.exec('ROLLBACK')
        throw error
      }
    },
  }
}
