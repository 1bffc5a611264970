import { describe, expect, it } from 'vitest'
import {
  createFailedLoginLog,
  failureWindowMs,
  maxFailures,
} from '../../../src/features/access/failed-logins.ts'
import { createPrincipalStorage } from '../../fakes/principal-storage.ts'

const startMs = 1_790_000_000_000
const open = () => createFailedLoginLog(createPrincipalStorage())
const times = <T>(count: number, work: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => work(index))

describe('the count of failed logins', () => {
  it('refuses an address after thirty in ten minutes, until these are over', () => {
    const log = open()
    const fail = (nowMs: number) => log.failed({ address: '192.0.2.1' }, nowMs)
    const allowed = times(maxFailures, (index) => fail(startMs + index))
    expect(allowed.every(({ retryAfterMs }) => retryAfterMs === undefined)).toBe(true)
    expect(fail(startMs + 1_000)).toMatchObject({ retryAfterMs: failureWindowMs - 1_000 })
    expect(fail(startMs + failureWindowMs).retryAfterMs).toBeUndefined()
  })

  it('counts what an address did with several keys together', () => {
    const log = open()
    const fail = (key: string) => log.failed({ address: 'a', key }, startMs)
    times(maxFailures, (index) => fail(`key_${index}`))
    expect(fail('key_new').retryAfterMs).toBe(failureWindowMs)
  })

  it('holds nothing against another address', () => {
    const log = open()
    times(maxFailures * 3, () => log.failed({ address: 'a' }, startMs))
    expect(log.failed({ address: 'b' }, startMs)).toEqual({
      record: { address: 'b', count: 1 },
    })
  })

  it('puts the first, the tenth and the hundredth on record, and the one that was too many', () => {
    const log = open()
    const records = times(250, () => log.failed({ address: 'a' }, startMs).record)
    expect(records.flatMap((record) => record ?? [])).toEqual(
      [1, 10, maxFailures + 1, 100].map((count) => ({ address: 'a', count })),
    )
  })

  it('puts the first use of each key that has ended on record', () => {
    const log = open()
    log.failed({ address: 'a' }, startMs)
    const failed = { address: 'a', key: 'key_1' }
    expect(log.failed(failed, startMs)).toEqual({ record: { ...failed, count: 1 } })
    expect(log.failed(failed, startMs)).toEqual({})
  })

  it('is not flooded by a thousand addresses: a hundred rows, then the sum', () => {
    const log = open()
    const records = times(1_100, (index) => log.failed({ address: `a${index}` }, startMs))
    const told = records.flatMap(({ record }) => record ?? [])
    expect(told.slice(0, 100).every(({ address }) => address !== undefined)).toBe(true)
    expect(told.slice(100)).toEqual([{ count: 1_000 }])
  })

  it('has the use of a key that has ended on record, whatever else goes on', () => {
    const log = open()
    times(1_100, (index) => log.failed({ address: `a${index}` }, startMs))
    const failed = { address: 'b', key: 'key_1' }
    expect(log.failed(failed, startMs).record).toEqual({ ...failed, count: 1 })
    const records = times(1_100, (index) =>
      log.failed({ ...failed, address: `b${index}` }, startMs),
    )
    expect(records.filter(({ record }) => record?.address !== undefined)).toHaveLength(99)
  })

  it('forgets windows that are over, and one that a clock put into the future', () => {
    const storage = createPrincipalStorage()
    const log = createFailedLoginLog(storage)
    times(50, (index) => log.failed({ address: `a${index}` }, startMs))
    log.failed({ address: 'later' }, startMs + 3 * failureWindowMs)
    log.failed({ address: 'now' }, startMs)
    const rows = storage.sql.exec('SELECT address FROM failed_logins ORDER BY address').toArray()
    expect(rows.map(({ address }) => address)).toEqual(['', ' recorded', 'now'])
  })
})
