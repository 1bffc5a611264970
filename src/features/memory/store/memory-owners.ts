import type { MemoryOwners } from '../types.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/database.ts'

/** The table of those who have long-term memory. */
export function createMemoryOwners(database: Database): MemoryOwners {
  return {
    async add(principal) {
      const sql = 'INSERT INTO memory_owners VALUES (?1) ON CONFLICT DO NOTHING'
      await reached(() => database.prepare(sql).bind(principal).run())
    },
    async list() {
      const statement = database.prepare('SELECT principal FROM memory_owners ORDER BY principal')
      const { results } = await reached(() => statement.all<{ readonly principal: string }>())
      return results.map(({ principal }) => principal)
    },
  }
}
