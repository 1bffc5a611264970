import type { Notice, Schedule, ScheduleOwner, ToldEvent } from '#runtime/session/types/schedule.ts'
import { bodies, type Tables, createSlotRows, type SlotRows, type SqlValues } from './slot-rows.ts'
import { tablesMark } from '#contracts/objects.ts'

/** The notices of a principal, and its settings. */
interface NoticeRows {
  readonly notices: (limit: number) => readonly Notice[]
  readonly addNotice: (notice: Notice, most: number) => void
  readonly dropNotice: (id: string) => boolean
  readonly setting: (name: string) => string | undefined
  readonly set: (name: string, value: string) => void
}

const createNoticeRows = ({ read, write }: Tables): NoticeRows => ({
  notices: (limit) =>
    bodies(read('SELECT body FROM notices ORDER BY at_ms DESC, id LIMIT ?', limit)),
  addNotice: (notice, most) => {
    write(
      'INSERT INTO notices VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      notice.id,
      notice.atMs,
      JSON.stringify(notice),
    )
    write(
      'DELETE FROM notices WHERE id IN (SELECT id FROM notices ORDER BY at_ms DESC LIMIT -1 OFFSET ?)',
      most,
    )
  },
  dropNotice: (id) => read('DELETE FROM notices WHERE id = ? RETURNING id', id).length > 0,
  setting: (name) => {
    const [row] = read('SELECT value FROM settings WHERE name = ?', name)
    return row && String(row['value'])
  },
  set: (name, value) => void write('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value),
})

/** Which events a subscription has had: each begins one run at most. */
interface HeardRows {
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

const createHeardRows = (
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

/** The part of an object's storage that schedules use. */
export interface ScheduleStorage {
  readonly sql: {
    readonly exec: (
      query: string,
      ...values: (string | number | null)[]
    ) => { readonly toArray: () => readonly Readonly<Record<string, unknown>>[] }
  }
  readonly transactionSync: <T>(work: () => T) => T
}

/** A change of a schedule that is not in D1 yet. */
export interface Untold {
  readonly id: string
  /** Absent: it is gone. */
  readonly schedule: Schedule | undefined
  readonly owner: ScheduleOwner
  readonly version: number
  readonly events: readonly ToldEvent[]
}

/**
 * The rows of an object's schedules. Synchronous, so that writes without an await between them are one transaction;
 * tables
 * are made with the first row.
 */
export interface ScheduleRows extends NoticeRows, HeardRows, SlotRows {
  readonly isMade: () => boolean
  readonly schedules: () => readonly Schedule[]
  readonly schedule: (id: string) => Schedule | undefined
  /** With the events for D1. The version goes up by itself. */
  readonly put: (schedule: Schedule, events?: readonly DraftEvent[]) => Schedule
  /** Removes it with its slots, and from D1; also a schedule that only D1 still has. */
  readonly remove: (schedule: Schedule, events: readonly DraftEvent[]) => void
  readonly untold: (limit: number) => readonly Untold[]
  readonly told: (id: string, version: number) => void
}

/** An event before it is known of which version. */
export type DraftEvent = ToldEvent extends infer Each
  ? Each extends ToldEvent
    ? Omit<Each, 'version'>
    : never
  : never

const tables = `
  CREATE TABLE IF NOT EXISTS schedules (${tablesMark} id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS schedule_slots (${tablesMark}
    schedule TEXT NOT NULL, slot_ms INTEGER NOT NULL, is_open INTEGER NOT NULL, look_ms INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (schedule, slot_ms)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS schedule_looks ON schedule_slots (look_ms) WHERE look_ms IS NOT NULL;
  CREATE INDEX IF NOT EXISTS schedule_open ON schedule_slots (schedule, slot_ms) WHERE is_open = 1;
  CREATE TABLE IF NOT EXISTS schedule_untold (${tablesMark}
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, version INTEGER NOT NULL, events TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS notices (${tablesMark} id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settings (${tablesMark} name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`

export function createScheduleRows({ sql }: Pick<ScheduleStorage, 'sql'>): ScheduleRows {
  let made = false
  const exec = (query: string, ...values: SqlValues) => sql.exec(query, ...values).toArray()
  const isMade = () =>
    (made ||= exec(`SELECT 1 FROM sqlite_master WHERE name = 'schedules'`).length > 0)
  const read = (query: string, ...values: SqlValues) => (isMade() ? exec(query, ...values) : [])
  const write = (query: string, ...values: SqlValues) => {
    if (!isMade()) exec(tables)
    made = true
    return exec(query, ...values)
  }
  const schedule = (id: string) =>
    bodies<Schedule>(read('SELECT body FROM schedules WHERE id = ?', id))[0]
  const tell = ({ id, owner, version }: Schedule, drafts: readonly DraftEvent[]) => {
    const [row] = read('SELECT events FROM schedule_untold WHERE id = ?', id)
    const before = row ? (JSON.parse(String(row['events'])) as ToldEvent[]) : []
    const events = JSON.stringify([...before, ...drafts.map((one) => ({ ...one, version }))])
    write(
      `INSERT INTO schedule_untold VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT DO UPDATE SET version = ?3, events = ?4`,
      id,
      owner,
      version,
      events,
    )
  }
  const notices = createNoticeRows({ read, write })
  return {
    isMade,
    schedules: () => bodies(read('SELECT body FROM schedules ORDER BY id')),
    schedule,
    put(changed, events = []) {
      const next = { ...changed, version: changed.version + 1 }
      write('INSERT OR REPLACE INTO schedules VALUES (?, ?)', next.id, JSON.stringify(next))
      tell(next, events)
      return next
    },
    remove(gone, events) {
      write('DELETE FROM schedules WHERE id = ?', gone.id)
      write('DELETE FROM schedule_slots WHERE schedule = ?', gone.id)
      tell({ ...gone, version: gone.version + 1 }, events)
    },
    ...createSlotRows({ read, write }),
    untold: (limit) =>
      read('SELECT * FROM schedule_untold LIMIT ?', limit).map((row) => ({
        id: String(row['id']),
        schedule: schedule(String(row['id'])),
        owner: row['owner'] as ScheduleOwner, // as it was put there
        version: Number(row['version']),
        events: JSON.parse(String(row['events'])),
      })),
    told: (id, version) =>
      void read('DELETE FROM schedule_untold WHERE id = ? AND version = ?', id, version),
    ...notices,
    ...createHeardRows({ write }, notices),
  }
}
