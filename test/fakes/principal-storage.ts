import { DatabaseSync } from 'node:sqlite'
import type { PrincipalStorage } from '../../src/governance/principal-rows.ts'

/** SQLite in memory behind the part of a Durable Object's storage that principals use, so that the SQL really runs. */
export function createPrincipalStorage(): PrincipalStorage {
  const sqlite = new DatabaseSync(':memory:')
  return {
    sql: {
      exec(query, ...values) {
        if (values.length > 0 || !query.includes(';')) {
          const rows = sqlite.prepare(query).all(...values)
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
