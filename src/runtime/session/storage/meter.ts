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
 * a cursor reads are known once the stretch without an `await` is over: until then every cursor is kept, however many
 * there are. Rows that a cursor reads after that are not counted.
 */
export function createMeter(storage: DurableObjectStorage) {
  let counted: PlatformAmounts = {}
  let isOwed = false
  let rowsRead = 0
  let rowsWritten = 0
  let alarms = 0
  let open: Cursor[] = []
  const count = (amounts: PlatformAmounts) => void (counted = plusPlatform(counted, amounts))
  const settle = (cursor: Cursor) => {
    rowsRead += cursor.rowsRead
    rowsWritten += cursor.rowsWritten
  }
  const addUp = () => {
    open.forEach(settle)
    open = []
  }
  const { sql } = storage
  const exec = sql.exec.bind(sql) as Exec
  replace(sql, 'exec', (<T extends Row>(query: string, ...values: unknown[]) => {
    const cursor = exec<T>(query, ...values)
    if (open.length === 0) queueMicrotask(addUp)
    open.push(cursor)
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
