import type { ScheduleSpec, Slot, SlotState } from '#runtime/session/types/schedule.ts'

export type SqlValues = readonly (string | number | null)[]
type Rows = readonly Readonly<Record<string, unknown>>[]
/** How the tables are read, once they are made, and written. */
export interface Tables {
  readonly read: (query: string, ...values: SqlValues) => Rows
  readonly write: (query: string, ...values: SqlValues) => Rows
}

/** The rows of slots, with the time of each slot's next look. */
export interface SlotRows {
  readonly slot: (schedule: string, slotMs: number) => Slot | undefined
  readonly slots: (
    schedule: string,
    query: { readonly limit: number; readonly beforeMs?: number; readonly state?: SlotState },
  ) => readonly Slot[]
  /** The newest that was skipped for this reason since then. */
  readonly skippedSince: (schedule: string, reason: string, sinceMs: number) => Slot | undefined
  /** The number of a principal's events since then that wait, run or have run; and how many of these are under way. */
  readonly begunFor: (
    schedule: string,
    principal: string,
    sinceMs: number,
  ) => { readonly all: number; readonly open: number }
  /** Queued, checking or running, the oldest first. */
  readonly open: (schedule: string) => readonly Slot[]
  /** False if a slot of this moment exists: then nothing changes. */
  readonly addSlot: (slot: Slot, lookMs: number | undefined) => boolean
  readonly putSlot: (slot: Slot, lookMs: number | undefined) => void
  /** The schedule as it was, kept with what is under way and has none. When that is looked at stays. */
  readonly pin: (schedule: string, spec: ScheduleSpec) => void
  /** The slots to look at by then, the longest waiting first. */
  readonly toLook: (nowMs: number, limit: number) => readonly Slot[]
  readonly nextLookMs: () => number | undefined
  /** The slots that a principal's events began, or their chains; the oldest first. */
  readonly causedBy: (principal: string, limit: number) => readonly Slot[]
  /** Deletes one slot with its notice. @returns How many rows. */
  readonly forgetSlot: (slot: Pick<Slot, 'schedule' | 'slotMs'>) => number
  /** Deletes ended slots: the oldest beyond so many, and slots older than that. */
  readonly prune: (
    schedule: string,
    keep: { readonly most: number; readonly sinceMs: number },
  ) => void
}

const openStates = new Set(['queued', 'checking', 'running'])

/** The JSON of rows that were written here. */
export const bodies = <T>(rows: Rows): T[] => rows.map(({ body }) => JSON.parse(String(body)) as T)

const slotValues = (slot: Slot, lookMs: number | undefined) =>
  [
    slot.schedule,
    slot.slotMs,
    openStates.has(slot.state) ? 1 : 0,
    lookMs ?? null,
    JSON.stringify(slot),
  ] as const

export const createSlotRows = ({ read, write }: Tables): SlotRows => ({
  slot: (id, slotMs) =>
    bodies<Slot>(
      read('SELECT body FROM schedule_slots WHERE schedule = ? AND slot_ms = ?', id, slotMs),
    )[0],
  slots: (id, { limit, beforeMs = Number.MAX_SAFE_INTEGER, state = null }) =>
    bodies(
      read(
        `SELECT body FROM schedule_slots WHERE schedule = ?1 AND slot_ms < ?2
         AND (?3 IS NULL OR body->>'state' = ?3) ORDER BY slot_ms DESC LIMIT ?4`,
        id,
        beforeMs,
        state,
        limit,
      ),
    ),
  skippedSince: (id, reason, sinceMs) =>
    bodies<Slot>(
      read(
        `SELECT body FROM schedule_slots WHERE schedule = ?1 AND slot_ms >= ?3 AND is_open = 0
         AND body->>'state' = 'skipped' AND body->>'reason' = ?2 ORDER BY slot_ms DESC LIMIT 1`,
        id,
        reason,
        sinceMs,
      ),
    )[0],
  begunFor(id, principal, sinceMs) {
    const [row] = read(
      `SELECT count(*) AS "all", coalesce(sum(is_open), 0) AS "open" FROM schedule_slots
       WHERE schedule = ?1 AND slot_ms >= ?3 AND body->>'state' <> 'skipped' AND body->'cause'->>'principal' = ?2`,
      id,
      principal,
      sinceMs,
    )
    return { all: Number(row?.['all'] ?? 0), open: Number(row?.['open'] ?? 0) }
  },
  open: (id) =>
    bodies(
      read(
        'SELECT body FROM schedule_slots WHERE schedule = ? AND is_open = 1 ORDER BY slot_ms',
        id,
      ),
    ),
  addSlot: (slot, lookMs) =>
    write(
      'INSERT INTO schedule_slots VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING slot_ms',
      ...slotValues(slot, lookMs),
    ).length > 0,
  putSlot: (slot, lookMs) =>
    void write(
      `UPDATE schedule_slots SET is_open = ?3, look_ms = ?4, body = ?5
       WHERE schedule = ?1 AND slot_ms = ?2`,
      ...slotValues(slot, lookMs),
    ),
  pin: (id, spec) =>
    void write(
      `UPDATE schedule_slots SET body = json_set(body, '$.spec', json(?2))
       WHERE schedule = ?1 AND is_open = 1 AND body ->> '$.state' <> 'queued' AND body ->> '$.spec' IS NULL`,
      id,
      JSON.stringify(spec),
    ),
  toLook: (nowMs, limit) =>
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
  causedBy: (principal, limit) =>
    bodies(
      read(
        `SELECT body FROM schedule_slots WHERE body->'cause'->>'trace' IN
           (SELECT body->'cause'->>'trace' FROM schedule_slots WHERE body->'cause'->>'principal' = ?1)
         ORDER BY slot_ms LIMIT ?2`,
        principal,
        limit,
      ),
    ),
  forgetSlot: ({ schedule, slotMs }) =>
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
  prune: (id, { most, sinceMs }) =>
    void read(
      `DELETE FROM schedule_slots WHERE schedule = ?1 AND look_ms IS NULL AND is_open = 0 AND slot_ms < max(?3, coalesce(
        (SELECT slot_ms FROM schedule_slots WHERE schedule = ?1 ORDER BY slot_ms DESC LIMIT 1 OFFSET ?2), 0))`,
      id,
      most,
      sinceMs,
    ),
})
