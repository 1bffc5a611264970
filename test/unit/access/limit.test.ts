import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { networkOf } from '../../../src/features/access/request-limits.ts'
import { createLimit } from '../../../src/features/access/oauth/limit.ts'
import { createRateWindow } from '../../../src/features/access/rate-window.ts'

/** The window as the object has it, over SQLite in memory. */
function open() {
  const sqlite = new DatabaseSync(':memory:')
  const storage = {
    sql: {
      exec(query: string, ...values: unknown[]) {
        if (values.length === 0) return sqlite.exec(query)
        const rows = sqlite.prepare(query).all(...(values as SQLInputValue[]))
        return { toArray: () => rows }
      },
    },
    transactionSync: <T>(work: () => T): T => work(),
  } as unknown as Parameters<typeof createRateWindow>[0]
  const window = createRateWindow(storage)
  const limit = createLimit(async (_counter, request) => window.take(request, 1), networkOf)
  let count = 0
  return (address: string) => limit('clients', { address, requestId: `req_${(count += 1)}` })
}

describe('T27: registrations of clients', () => {
  it('are ten a minute of one network', async () => {
    const register = open()
    for (let count = 0; count < 10; count += 1) await register('192.0.2.1')
    await expect(register('192.0.2.1')).rejects.toMatchObject({ code: 'request_queue_full' })
  })

  it('cannot be used up for others: each network has three of its own', async () => {
    const register = open()
    for (let network = 0; network < 20; network += 1)
      for (let count = 0; count < 10; count += 1)
        await register(`198.51.100.${network}`).catch(() => {})
    for (let count = 0; count < 3; count += 1) await register('192.0.2.1')
    // Beyond that there is room for all together only, and it is taken.
    await expect(register('192.0.2.1')).rejects.toMatchObject({ code: 'request_queue_full' })
  })
})
