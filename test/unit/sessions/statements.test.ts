import { describe, expect, it } from 'vitest'
import { createSessionWorld, settle } from '../../switches/session-world.ts'

describe('a plain run in a session that has had others', () => {
  it('asks the database for its two rows and nothing else', async () => {
    const { wake, storage } = createSessionWorld({ script: () => ({ text: 'hi' }) })
    const life = wake()
    await life.run()
    await life.run()
    await settle()
    const asked: string[] = []
    const { exec } = storage.sql
    storage.sql.exec = ((query: string, ...values: unknown[]) => {
      asked.push(query.replaceAll(/\s+/g, ' '))
      return exec.call(storage.sql, query, ...values)
    }) as typeof exec
    const { transactionSync } = storage
    storage.transactionSync = ((work: () => void) => {
      asked.push('SAVEPOINT')
      transactionSync(work)
    }) as typeof transactionSync
    await life.run()
    await settle()
    const row = 'INSERT OR REPLACE INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
    expect(asked).toEqual([row, row])
  })
})
