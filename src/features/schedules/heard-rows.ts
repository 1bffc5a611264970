import { tablesMark } from '#contracts/object-tables.ts'
import type { NoticeRows } from './notice-rows.ts'
import type { Tables } from './slot-rows.ts'

/** Which events a subscription has had: each begins one run at most. */
export interface HeardRows {
  /** False if it was heard before: nothing is changed then. */
  readonly hear: (subscription: string, event: string, atMs: number) => boolean
  /** Deletes rows older than that, once an hour: no query but a full scan finds them. */
  readonly forgetHeard: (beforeMs: number) => void
}

/** Made with its first row: an object without subscriptions has none. */
const table = `CREATE TABLE IF NOT EXISTS heard_events (${tablesMark}
  subscription TEXT NOT NULL, event TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (subscription, event)
) STRICT, WITHOUT ROWID`

const hourMs = 3_600_000
const forgottenSetting = 'heard_forgotten_before_ms'

export const createHeardRows = (
  { write }: Pick<Tables, 'write'>,
  { setting, set }: Pick<NoticeRows, 'setting' | 'set'>,
): HeardRows => ({
  hear: (subscription, event, atMs) =>
    write(
      'INSERT INTO heard_events VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING event',
      subscription,
      event,
      atMs,
    ).length > 0,
  forgetHeard(beforeMs) {
    // Its first time makes the table, in the same go.
    if (Math.abs(beforeMs - Number(setting(forgottenSetting) ?? -Infinity)) < hourMs) return
    write(table)
    write('DELETE FROM heard_events WHERE at_ms < ?', beforeMs)
    set(forgottenSetting, String(beforeMs))
  },
})
