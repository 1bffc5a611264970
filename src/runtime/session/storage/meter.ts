import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformAmounts } from '#contracts/platform.ts'

/** Counts in memory the platform work of an object. */
export type Meter = ReturnType<typeof createMeter>

type Row = Record<string, SqlStorageValue>
type Exec = SqlStorage['exec']

interface Cursor {
  readonly rowsRead: number
  readonly rowsWritten: number
}

/**
 * Counts every use of an object's storage from here on: by the store, the spaces and `agents/lifecycle`. The rows that
 * a cursor reads are known with its array, or once the stretch without an `await` is over. A cursor is let go with its
 * array: a kept one keeps its rows, half a megabyte each.
 */
export function createMeter(storage: DurableObjectStorage) {
  let counted: PlatformAmounts = {}
  let isOwed = false
  let rowsRead = 0
  let rowsWritten = 0
  let alarms = 0
  const open = new Set<Cursor>()
  const count = (amounts: PlatformAmounts) => void (counted = plusPlatform(counted, amounts))
  const settle = (cursor: Cursor) => {
    rowsRead += cursor.rowsRead
    rowsWritten += cursor.rowsWritten
  }
  const addUp = () => {
    open.forEach(settle)
    open.clear()
  }
  const { sql } = storage
  const exec = sql.exec.bind(sql) as Exec
  replace(sql, 'exec', (<T extends Row>(query: string, ...values: unknown[]) => {
    const cursor = exec<T>(query, ...values)
    const toArray = cursor.toArray.bind(cursor)
    replace(cursor, 'toArray', () => {
      const rows = toArray()
      if (open.delete(cursor)) settle(cursor)
      return rows
    })
    if (open.size === 0) queueMicrotask(addUp)
    open.add(cursor)
    return cursor
  }) as Exec)
  const setAlarm = storage.setAlarm.bind(storage)
  replace(storage, 'setAlarm', (...given: Parameters<typeof setAlarm>) => {
    alarms += 1
    return setAlarm(...given)
  })
  /** The amounts since the last call. The caller books them. */
  const take = (): PlatformAmounts => {
    addUp()
    const taken = plusPlatform(counted, { rowsRead, rowsWritten, alarms })
    counted = {}
    rowsRead = 0
    rowsWritten = 0
    alarms = 0
    return taken
  }
  return {
    count,
    take,
    /**
     * A run was booked with the rows that follow its end: until they are written, the counted amounts are no
     * leftover.
     */
    owe: () => void (isOwed = true),
    paid: () => void (isOwed = false),
    /** The amounts that no run has taken; none while rows of a run's end are still to follow. */
    leftover: () => (isOwed ? {} : take()),
  }
}

function replace(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, configurable: true, writable: true })
}
