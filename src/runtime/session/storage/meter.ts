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

type Row = Record<string, SqlStorageValue>
type Cursor = Pick<SqlStorageCursor<Row>, 'rowsRead' | 'rowsWritten'>
type Exec = SqlStorage['exec']

/**
 * Watches the storage of an object from here on, whoever holds it: the store, the spaces, `agents/lifecycle`. Rows that
 * were read are known when a cursor was read to its end: with its array, or a moment later. One that is held longer
 * holds rows, half a megabyte each.
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
