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

/** Cursors that wait for their count before the old ones are looked at. A kept cursor keeps memory. */
const maxNew = 256

/**
 * Counts every use of an object's storage from here on: by the store, the spaces and `agents/lifecycle`. The rows that
 * a cursor reads are known once the stretch without an `await` is over. In a long stretch a cursor is let go once 128
 * other statements have passed without a row read of it; rows that it reads later are not counted.
 */
export function createMeter(storage: DurableObjectStorage) {
  let counted: PlatformAmounts = {}
  let isOwed = false
  let rowsRead = 0
  let rowsWritten = 0
  let alarms = 0
  let open: Cursor[] = []
  let old: { readonly cursor: Cursor; readonly read: number }[] = []
  const count = (amounts: PlatformAmounts) => void (counted = plusPlatform(counted, amounts))
  const settle = (cursor: Cursor) => {
    rowsRead += cursor.rowsRead
    rowsWritten += cursor.rowsWritten
  }
  const addUp = () => {
    open.forEach(settle)
    open = []
    for (const { cursor } of old) settle(cursor)
    old = []
  }
  const letGo = () => {
    const isRead = ({ cursor, read }: (typeof old)[number]) => cursor.rowsRead > read
    for (const one of old) if (!isRead(one)) settle(one.cursor)
    const kept = [...old.filter(isRead).map(({ cursor }) => cursor), ...open.splice(0, maxNew / 2)]
    old = kept.map((cursor) => ({ cursor, read: cursor.rowsRead }))
  }
  const { sql } = storage
  const exec = sql.exec.bind(sql) as Exec
  replace(sql, 'exec', (<T extends Row>(query: string, ...values: unknown[]) => {
    const cursor = exec<T>(query, ...values)
    if (open.length === 0) queueMicrotask(addUp)
    else if (open.length === maxNew) letGo()
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
