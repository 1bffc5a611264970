import { plusPlatform } from '#contracts/platform-sum.ts'
import type { PlatformAmounts, PlatformMeter } from '#contracts/platform.ts'

/** What an object makes the platform do, counted where it happens. In memory: the counting writes nothing. */
export interface Meter extends PlatformMeter {
  /** A run was booked with what will follow its end: until that has happened, what is counted is no leftover. */
  readonly owe: () => void
  readonly paid: () => void
  /** What no run has taken, where nothing is still to follow a run's end. */
  readonly leftover: () => PlatformAmounts
}

type Exec = SqlStorage['exec']

/**
 * Watches the storage of an object from here on, whoever holds it: the store, the spaces, `agents/lifecycle`. Rows that
 * were read are known when a cursor was read to its end, which everybody does at once: they are added up right after.
 * A cursor that is held longer keeps what it was asked with, half a megabyte of a row.
 */
export function createMeter(storage: DurableObjectStorage): Meter {
  let counted: PlatformAmounts = {}
  let isOwed = false
  let open: SqlStorageCursor<Record<string, SqlStorageValue>>[] = []
  const count = (amounts: PlatformAmounts) => void (counted = plusPlatform(counted, amounts))
  const addUp = () => {
    const rowsRead = open.reduce((sum, cursor) => sum + cursor.rowsRead, 0)
    const rowsWritten = open.reduce((sum, cursor) => sum + cursor.rowsWritten, 0)
    open = []
    count({ rowsRead, rowsWritten })
  }
  const { sql } = storage
  const exec = sql.exec.bind(sql) as Exec
  replace(sql, 'exec', (<T extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: unknown[]
  ) => {
    const cursor = exec<T>(query, ...values)
    if (open.length === 0) queueMicrotask(addUp)
    open.push(cursor as unknown as (typeof open)[number])
    return cursor
  }) as Exec)
  const setAlarm = storage.setAlarm.bind(storage)
  replace(storage, 'setAlarm', (...given: Parameters<typeof setAlarm>) => {
    count({ alarms: 1 })
    return setAlarm(...given)
  })
  const take = () => {
    addUp()
    const taken = counted
    counted = {}
    return taken
  }
  return {
    count,
    take,
    owe: () => void (isOwed = true),
    paid: () => void (isOwed = false),
    leftover: () => (isOwed ? {} : take()),
  }
}

function replace(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true })
}
