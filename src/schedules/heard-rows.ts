import type { Tables } from './slot-rows.ts'

/** Which events a subscription has had: each begins one run at most. */
export interface HeardRows {
  /** False if it was heard before: nothing is changed then. */
  readonly hear: (subscription: string, event: string, atMs: number) => boolean
  readonly forgetHeard: (beforeMs: number) => void
}

/** A table of its own, made with its first row: objects of the version before have the others already. */
const table = `CREATE TABLE IF NOT EXISTS heard_events (
  subscription TEXT NOT NULL, event TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (subscription, event)
) STRICT, WITHOUT ROWID`

export const createHeardRows = ({ write }: Pick<Tables, 'write'>): HeardRows => ({
  hear: (subscription, event, atMs) =>
    write(
      'INSERT INTO heard_events VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING event',
      subscription,
      event,
      atMs,
    ).length > 0,
  forgetHeard(beforeMs) {
    write(table)
    write('DELETE FROM heard_events WHERE at_ms < ?', beforeMs)
  },
})
