import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'
import type { PlatformMeter } from '../types/platform-usage.ts'

/** Counts in memory the platform work of an object. */
export interface Meter extends PlatformMeter {
  /** A run was booked with the rows that follow its end: until they are written, the counted amounts are no leftover. */
  readonly owe: () => void
  readonly paid: () => void
  /** The amounts that no run has taken; none while rows of a run's end are still to follow. */
  readonly leftover: () => PlatformAmounts
}

type Row = Record<string, SqlStorageValue>
type Cursor = Pick<SqlStorageCursor<Row>, 'rowsRead' | 'rowsWritten'>
type Exec = SqlStorage['exec']

/**
 * Counts every use of an object's storage from here on: by the store, the spaces and `agents/lifecycle`. The rows that
 * a cursor reads are known at its end: with its array, or a moment later. Rows that a cursor reads after that moment
 * are not counted.
 */
export function createMeter(storage: DurableObjectStorage): Meter {
  let counted: PlatformAmounts = {}
  let isOwed = false
  let open: Cursor[] = []
  const count = (amounts: PlatformAmounts) => void (counted = plusPlatform(counted, amounts))
  const settle = ({ rowsRead, rowsWritten }: Cursor) => count({ rowsRead, rowsWritten })
  const addUp = () => {
    open.forEach(settle)
    open = []
  }
  const { sql } = storage
  const exec = sql.exec.bind(sql) as Exec
  replace(sql, 'exec', (<T extends Row>(query: string, ...values: unknown[]) => {
    const cursor = exec<T>(query, ...values)
    const held = cursor as unknown as Cursor
    const toArray = cursor.toArray.bind(cursor)
    replace(cursor, 'toArray', () => {
      const rows = toArray()
      const at = open.indexOf(held)
      if (at >= 0) open.splice(at, 1).forEach(settle)
      return rows
    })
    if (open.length === 0) queueMicrotask(addUp)
    open.push(held)
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
