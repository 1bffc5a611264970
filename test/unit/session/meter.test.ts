import { expect, it } from 'vitest'
import { plusPlatform } from '#contracts/lease.ts'
import { createMeter } from '../../../src/runtime/session/storage/meter.ts'

/** Storage whose cursors read a row with each `next`. */
function createStorage() {
  const exec = () => {
    let rowsRead = 0
    return {
      next: () => void (rowsRead += 1),
      toArray: () => {
        rowsRead += 1
        return []
      },
      get rowsRead() {
        return rowsRead
      },
      rowsWritten: 1,
    }
  }
  const storage = { sql: { exec }, setAlarm: async () => {} }
  const meter = createMeter(storage as unknown as DurableObjectStorage)
  return { exec: () => storage.sql.exec(), meter, storage }
}

it('counts the rows of a cursor that is read slowly behind a thousand other statements', () => {
  const { exec, meter } = createStorage()
  const slow = exec()
  for (let statements = 0; statements < 1_000; statements += 1) {
    exec()
    slow.next()
  }
  expect(meter.take()).toEqual({ rowsRead: 1_000, rowsWritten: 1_001 })
})

it('lets go of a cursor with its array', () => {
  const { exec, meter } = createStorage()
  const read = exec()
  read.toArray()
  read.next() // what follows is not asked for any more
  expect(meter.take()).toEqual({ rowsRead: 1, rowsWritten: 1 })
})

it('counts every cursor once, whether it is asked in the same moment or later', async () => {
  const { exec, meter, storage } = createStorage()
  exec().next()
  await Promise.resolve()
  exec().next()
  await storage.setAlarm()
  meter.count({ requests: 1 })
  expect(meter.take()).toEqual({ rowsRead: 2, rowsWritten: 2, alarms: 1, requests: 1 })
  await Promise.resolve()
  expect(meter.take()).toEqual({})
})

it('leaves out what adds up to nothing, and keeps a correction', () => {
  const sum = plusPlatform(
    { rowsRead: 2, alarms: 1, wakes: 0 },
    { rowsRead: 3, alarms: -1, cpuMs: -4 },
  )
  expect(sum).toEqual({ rowsRead: 5, cpuMs: -4 })
})
