import type {
  Notice,
  Schedule,
  ScheduleOwner,
  ScheduleEvent,
  ScheduleSpec,
  Slot,
  SlotState,
} from '#runtime/session/types/schedule.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { ForgottenSlot } from '#runtime/session/types/schedule-object.ts'

type SqlValues = readonly (string | number | null)[]
type Rows = readonly Readonly<Record<string, unknown>>[]
/** How the tables are read, once they are made, and written. */
interface Tables {
  readonly read: (query: string, ...values: SqlValues) => Rows
  readonly write: (query: string, ...values: SqlValues) => Rows
}

const openStates = new Set(['queued', 'checking', 'running'])

/** The JSON of rows that were written here. */
const bodies = <T>(rows: Rows): T[] => rows.map(({ body }) => JSON.parse(String(body)) as T)

const slotValues = (slot: Slot, lookMs: number | undefined) =>
  [
    slot.schedule,
    slot.slotMs,
    openStates.has(slot.state) ? 1 : 0,
    lookMs ?? null,
    JSON.stringify(slot),
  ] as const

/** The rows of slots, with the time of each slot's next look. */
const createSlotRows = ({ read, write }: Tables) => ({
  slot: (id: string, slotMs: number): Slot | undefined =>
    bodies<Slot>(
      read('SELECT body FROM schedule_slots WHERE schedule = ? AND slot_ms = ?', id, slotMs),
    )[0],
  slots: (
    id: string,
    {
      limit,
      beforeMs = Number.MAX_SAFE_INTEGER,
      state,
    }: { readonly limit: number; readonly beforeMs?: number; readonly state?: SlotState },
  ): readonly Slot[] =>
    bodies(
      read(
        `SELECT body FROM schedule_slots WHERE schedule = ?1 AND slot_ms < ?2
         AND (?3 IS NULL OR body->>'state' = ?3) ORDER BY slot_ms DESC LIMIT ?4`,
        id,
        beforeMs,
        state ?? null,
        limit,
      ),
    ),
  /** The newest that was skipped for this reason since then. */
  skippedSince: (id: string, reason: string, sinceMs: number): Slot | undefined =>
    bodies<Slot>(
      read(
        `SELECT body FROM schedule_slots WHERE schedule = ?1 AND slot_ms >= ?3 AND is_open = 0
         AND body->>'state' = 'skipped' AND body->>'reason' = ?2 ORDER BY slot_ms DESC LIMIT 1`,
        id,
        reason,
        sinceMs,
      ),
    )[0],
  /** The number of a principal's events since then that wait, run or have run; and how many of these are under way. */
  begunFor(id: string, principal: string, sinceMs: number) {
    const [row] = read(
      `SELECT count(*) AS "all", coalesce(sum(is_open), 0) AS "open" FROM schedule_slots
       WHERE schedule = ?1 AND slot_ms >= ?3 AND body->>'state' <> 'skipped' AND body->'cause'->>'principal' = ?2`,
      id,
      principal,
      sinceMs,
    )
    return { all: Number(row?.['all'] ?? 0), open: Number(row?.['open'] ?? 0) }
  },
  /** Queued, checking or running, the oldest first. */
  open: (id: string): readonly Slot[] =>
    bodies(
      read(
        'SELECT body FROM schedule_slots WHERE schedule = ? AND is_open = 1 ORDER BY slot_ms',
        id,
      ),
    ),
  /** False if a slot of this moment exists: then nothing changes. */
  addSlot: (slot: Slot, lookMs: number | undefined) =>
    write(
      'INSERT INTO schedule_slots VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING slot_ms',
      ...slotValues(slot, lookMs),
    ).length > 0,
  putSlot: (slot: Slot, lookMs: number | undefined) =>
    void write(
      `UPDATE schedule_slots SET is_open = ?3, look_ms = ?4, body = ?5
       WHERE schedule = ?1 AND slot_ms = ?2`,
      ...slotValues(slot, lookMs),
    ),
  /** The schedule as it was, kept with what is under way and has none. When that is looked at stays. */
  pin: (id: string, spec: ScheduleSpec) =>
    void write(
      `UPDATE schedule_slots SET body = json_set(body, '$.spec', json(?2))
       WHERE schedule = ?1 AND is_open = 1 AND body ->> '$.state' <> 'queued' AND body ->> '$.spec' IS NULL`,
      id,
      JSON.stringify(spec),
    ),
  /** The slots to look at by then, the longest waiting first. */
  toLook: (nowMs: number, limit: number): readonly Slot[] =>
    bodies(
      read(
        'SELECT body FROM schedule_slots WHERE look_ms <= ? ORDER BY look_ms, slot_ms LIMIT ?',
        nowMs,
        limit,
      ),
    ),
  nextLookMs: () => {
    const [row] = read('SELECT min(look_ms) AS at FROM schedule_slots WHERE look_ms IS NOT NULL')
    return typeof row?.['at'] === 'number' ? row['at'] : undefined
  },
  /** The slots that a principal's events began, or their chains; the oldest first. */
  causedBy: (principal: string, limit: number): readonly Slot[] =>
    bodies(
      read(
        `SELECT body FROM schedule_slots WHERE body->'cause'->>'trace' IN
           (SELECT body->'cause'->>'trace' FROM schedule_slots WHERE body->'cause'->>'principal' = ?1)
         ORDER BY slot_ms LIMIT ?2`,
        principal,
        limit,
      ),
    ),
  /** Deletes one slot with its notice. @returns How many rows. */
  forgetSlot: ({ schedule, slotMs }: ForgottenSlot) =>
    read(
      'DELETE FROM schedule_slots WHERE schedule = ? AND slot_ms = ? RETURNING 1',
      schedule,
      slotMs,
    ).length +
    read(
      `DELETE FROM notices WHERE body->>'schedule' = ? AND body->>'slotMs' = ? RETURNING 1`,
      schedule,
      slotMs,
    ).length,
  /** Deletes ended slots: the oldest beyond so many, and slots older than that. */
  prune: (id: string, { most, sinceMs }: { readonly most: number; readonly sinceMs: number }) =>
    void read(
      `DELETE FROM schedule_slots WHERE schedule = ?1 AND look_ms IS NULL AND is_open = 0 AND slot_ms < max(?3, coalesce(
        (SELECT slot_ms FROM schedule_slots WHERE schedule = ?1 ORDER BY slot_ms DESC LIMIT 1 OFFSET ?2), 0))`,
      id,
      most,
      sinceMs,
    ),
})

/** The notices of a principal, and its settings. */
const createNoticeRows = ({ read, write }: Tables) => ({
  notices: (limit: number): readonly Notice[] =>
    bodies(read('SELECT body FROM notices ORDER BY at_ms DESC, id LIMIT ?', limit)),
  addNotice: (notice: Notice, most: number) => {
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
  dropNotice: (id: string) => read('DELETE FROM notices WHERE id = ? RETURNING id', id).length > 0,
  setting: (name: string) => {
    const [row] = read('SELECT value FROM settings WHERE name = ?', name)
    return row && String(row['value'])
  },
  set: (name: string, value: string) =>
    void write('INSERT OR REPLACE INTO settings VALUES (?, ?)', name, value),
})

/** Made with its first row: an object without subscriptions has none. */
const table = `CREATE TABLE IF NOT EXISTS heard_events (${tablesMark}
  subscription TEXT NOT NULL, event TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (subscription, event)
) STRICT, WITHOUT ROWID`

const hourMs = 3_600_000
const forgottenSetting = 'heard_forgotten_before_ms'

/** Which events a subscription has had: each begins one run at most. */
const createHeardRows = (
  { write }: Tables,
  { setting, set }: ReturnType<typeof createNoticeRows>,
) => ({
  /** False if it was heard before: nothing is changed then. */
  hear: (subscription: string, event: string, atMs: number) =>
    write(
      'INSERT INTO heard_events VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING event',
      subscription,
      event,
      atMs,
    ).length > 0,
  /** Deletes rows older than that, once an hour: no query but a full scan finds them. */
  forgetHeard(beforeMs: number) {
    // Its first time makes the table, in the same go.
    if (Math.abs(beforeMs - Number(setting(forgottenSetting) ?? -Infinity)) < hourMs) return
    write(table)
    write('DELETE FROM heard_events WHERE at_ms < ?', beforeMs)
    set(forgottenSetting, String(beforeMs))
  },
})

/** What makes several writes one. */
export interface Transactions {
  readonly transactionSync: <T>(work: () => T) => T
}

/** The part of an object's storage that schedules use. */
export interface ScheduleStorage extends Transactions {
  readonly sql: {
    readonly exec: (
      query: string,
      ...values: (string | number | null)[]
    ) => { readonly toArray: () => readonly Readonly<Record<string, unknown>>[] }
  }
}

/** A change of a schedule that is not in D1 yet. */
export interface Untold {
  readonly id: string
  /** Absent: it is gone. */
  readonly schedule: Schedule | undefined
  readonly owner: ScheduleOwner
  readonly version: number
  readonly events: readonly ScheduleEvent[]
}

export type ScheduleRows = ReturnType<typeof createScheduleRows>

/** An event before it is known of which version. */
export type DraftEvent = ScheduleEvent extends infer Each
  ? Each extends ScheduleEvent
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
  CREATE TABLE IF NOT EXISTS notices (${tablesMark} id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, body TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settings (${tablesMark} name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;`

/**
 * The rows of an object's schedules. Synchronous, so that writes without an await between them are one transaction;
 * tables are made with the first row.
 */
export function createScheduleRows({ sql }: Pick<ScheduleStorage, 'sql'>) {
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
  const schedule = (id: string): Schedule | undefined =>
    bodies<Schedule>(read('SELECT body FROM schedules WHERE id = ?', id))[0]
  const tell = ({ id, owner, version }: Schedule, drafts: readonly DraftEvent[]) => {
    const [row] = read('SELECT events FROM schedule_untold WHERE id = ?', id)
    const before = row ? (JSON.parse(String(row['events'])) as ScheduleEvent[]) : []
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
    schedules: (): readonly Schedule[] => bodies(read('SELECT body FROM schedules ORDER BY id')),
    schedule,
    /** With the events for D1. The version goes up by itself. */
    put(changed: Schedule, events: readonly DraftEvent[] = []): Schedule {
      const next = { ...changed, version: changed.version + 1 }
      write('INSERT OR REPLACE INTO schedules VALUES (?, ?)', next.id, JSON.stringify(next))
      tell(next, events)
      return next
    },
    /** Removes it with its slots, and from D1; also a schedule that only D1 still has. */
    remove(gone: Schedule, events: readonly DraftEvent[]) {
      write('DELETE FROM schedules WHERE id = ?', gone.id)
      write('DELETE FROM schedule_slots WHERE schedule = ?', gone.id)
      tell({ ...gone, version: gone.version + 1 }, events)
    },
    ...createSlotRows({ read, write }),
    untold: (limit: number): readonly Untold[] =>
      read('SELECT * FROM schedule_untold LIMIT ?', limit).map((row) => ({
        id: String(row['id']),
        schedule: schedule(String(row['id'])),
        owner: row['owner'] as ScheduleOwner, // as it was put there
        version: Number(row['version']),
        events: JSON.parse(String(row['events'])),
      })),
    told: (id: string, version: number) =>
      void read('DELETE FROM schedule_untold WHERE id = ? AND version = ?', id, version),
    ...notices,
    ...createHeardRows({ read, write }, notices),
  }
}
