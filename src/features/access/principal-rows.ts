import type { DayAmount } from '#runtime/session/types/principal.ts'
import { tablesMark } from '#contracts/object-tables.ts'
import { minus, nothing } from './day.ts'

/** A reservation that is open. */
export interface LeaseRow {
  readonly run: string
  readonly session: string
  readonly day: string
  readonly amount: DayAmount
  /** How often a sweep has met it. At 0 it may be so young that its run is not written yet. */
  readonly checks: number
  /** When a sweep is to look at it, epoch milliseconds. */
  readonly nextCheckMs: number
}

/** What a run spent in a day. */
export interface SettledRow {
  readonly run: string
  readonly day: string
  readonly amount: DayAmount
}

/** How far a run has come; of one that never went on after it was settled, nothing need be known. */
export interface ProgressRow {
  readonly run: string
  /** What is said of an earlier step is late. */
  readonly step: number
  /** What it settled in days that were over when it went on. */
  readonly base: DayAmount
}

/** The part of a Durable Object's storage that this room uses, so that a test can stand SQLite in for it. */
export interface PrincipalStorage {
  readonly sql: {
    exec(query: string, ...values: (string | number)[]): { toArray(): Row[] }
  }
  transactionSync<T>(work: () => T): T
}

type Row = Record<string, unknown>
type Exec = (query: string, ...values: (string | number)[]) => Row[]

interface LeaseRows {
  readonly leases: () => readonly LeaseRow[]
  readonly lease: (run: string) => LeaseRow | undefined
  readonly openLease: (lease: Omit<LeaseRow, 'checks'>) => void
  readonly closeLease: (run: string) => void
  readonly checkLater: (run: string, nextCheckMs: number) => void
}

interface DayRows {
  /** The last day that anything was reserved or settled in. */
  readonly lastDay: () => string | undefined
  /** Makes the day known, so that days do not go backwards. */
  readonly openDay: (day: string) => void
  readonly dropDaysBefore: (day: string) => void
  readonly settledIn: (day: string) => DayAmount
  readonly settled: (run: string) => SettledRow | undefined
  /** Inserts or replaces, and keeps the day's sum. A row that is of another day was left before. */
  readonly writeSettled: (row: SettledRow) => void
  /** It is out of its day's sum again. */
  readonly removeSettled: (run: string) => void
  /** It stays in its day's sum for good. */
  readonly leaveSettled: (run: string) => void
  readonly progress: (run: string) => ProgressRow
  readonly writeProgress: (row: ProgressRow) => void
}

/**
 * The rows of one principal's days. Made with the first write, so that a principal without a limit has none.
 * Every method is synchronous; `together` makes several of them one step that lands whole or not at all, and
 * whatever writes is inside one.
 */
export interface PrincipalRows extends LeaseRows, DayRows {
  readonly together: <T>(work: () => T) => T
}

// REAL holds sums of absurd figures too, without an overflow that would stop every settlement.
const tables = `
  CREATE TABLE IF NOT EXISTS days (${tablesMark}
    day TEXT PRIMARY KEY, tokens REAL NOT NULL DEFAULT 0, cost_nano_usd REAL NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settled (${tablesMark}
    run TEXT PRIMARY KEY, day TEXT NOT NULL, tokens REAL NOT NULL, cost_nano_usd REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS leases (${tablesMark}
    run TEXT PRIMARY KEY, session TEXT NOT NULL, day TEXT NOT NULL, tokens REAL NOT NULL,
    cost_nano_usd REAL NOT NULL, checks INTEGER NOT NULL DEFAULT 0, next_check_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS progress (${tablesMark}
    run TEXT PRIMARY KEY, step INTEGER NOT NULL, tokens REAL NOT NULL, cost_nano_usd REAL NOT NULL
  ) STRICT, WITHOUT ROWID;`

/** The tables of a principal's days. None is made before there is something to keep. */
export function createPrincipalRows(storage: PrincipalStorage): PrincipalRows {
  let isReady = false
  const exec: Exec = (query, ...values) => storage.sql.exec(query, ...values).toArray()
  const exists = (): boolean =>
    (isReady ||= exec(`SELECT 1 FROM sqlite_master WHERE name = 'leases'`).length > 0)
  const read: Exec = (query, ...values) => (exists() ? exec(query, ...values) : [])

  return {
    ...createLeaseRows(exec, read),
    ...createDayRows(exec, read),
    together(work) {
      const wasReady = exists()
      try {
        return storage.transactionSync(() => {
          if (!isReady) exec(tables)
          isReady = true
          return work()
        })
      } catch (error) {
        isReady = wasReady // what was rolled back includes the tables
        throw error
      }
    },
  }
}

function createLeaseRows(exec: Exec, read: Exec): LeaseRows {
  return {
    leases: () => read('SELECT * FROM leases ORDER BY run').map(toLease),
    lease: (run) => read('SELECT * FROM leases WHERE run = ?', run).map(toLease)[0],
    openLease({ run, session, day, amount, nextCheckMs }) {
      exec(
        `INSERT INTO leases (run, session, day, tokens, cost_nano_usd, next_check_ms)
        VALUES (?, ?, ?, ?, ?, ?)`,
        run,
        session,
        day,
        amount.tokens,
        amount.costNanoUsd,
        nextCheckMs,
      )
    },
    closeLease: (run) => void exec('DELETE FROM leases WHERE run = ?', run),
    checkLater(run, nextCheckMs) {
      const sql = 'UPDATE leases SET checks = checks + 1, next_check_ms = ? WHERE run = ?'
      exec(sql, nextCheckMs, run)
    },
  }
}

function createDayRows(exec: Exec, read: Exec): DayRows {
  const settled = (run: string) =>
    read('SELECT * FROM settled WHERE run = ?', run).map(toSettled)[0]
  /** Added to the sum of a day; a day that was dropped comes back for what is settled late. */
  const book = (day: string, { tokens, costNanoUsd }: DayAmount) => {
    const sql = `
      INSERT INTO days (day, tokens, cost_nano_usd) VALUES (?1, max(0, ?2), max(0, ?3))
      ON CONFLICT (day) DO UPDATE SET
        tokens = max(0, tokens + ?2), cost_nano_usd = max(0, cost_nano_usd + ?3)`
    exec(sql, day, tokens, costNanoUsd)
  }
  const leaveSettled = (run: string) => void exec('DELETE FROM settled WHERE run = ?', run)
  return {
    lastDay: () => read('SELECT day FROM days ORDER BY day DESC LIMIT 1').map(dayIn)[0],
    openDay: (day) => void exec('INSERT OR IGNORE INTO days (day) VALUES (?)', day),
    dropDaysBefore(day) {
      exec('DELETE FROM settled WHERE day < ?', day)
      exec('DELETE FROM days WHERE day < ?', day)
      exec(`
        DELETE FROM progress WHERE run NOT IN (SELECT run FROM settled)
          AND run NOT IN (SELECT run FROM leases)`)
    },
    settledIn: (day) => read('SELECT * FROM days WHERE day = ?', day).map(amountOf)[0] ?? nothing,
    settled,
    writeSettled({ run, day, amount }) {
      book(day, minus(amount, settled(run)?.amount ?? nothing))
      const sql =
        'INSERT OR REPLACE INTO settled (run, day, tokens, cost_nano_usd) VALUES (?, ?, ?, ?)'
      exec(sql, run, day, amount.tokens, amount.costNanoUsd)
    },
    removeSettled(run) {
      const row = settled(run)
      if (!row) return
      book(row.day, minus(nothing, row.amount))
      leaveSettled(run)
    },
    leaveSettled,
    progress: (run) =>
      read('SELECT * FROM progress WHERE run = ?', run).map(toProgress)[0] ?? {
        run,
        step: 0,
        base: nothing,
      },
    writeProgress({ run, step, base }) {
      const sql =
        'INSERT OR REPLACE INTO progress (run, step, tokens, cost_nano_usd) VALUES (?, ?, ?, ?)'
      exec(sql, run, step, base.tokens, base.costNanoUsd)
    },
  }
}

const dayIn = (row: Row): string => String(row['day'])

const amountOf = (row: Row): DayAmount => ({
  tokens: Number(row['tokens']),
  costNanoUsd: Number(row['cost_nano_usd']),
})

const toSettled = (row: Row): SettledRow => ({
  run: String(row['run']),
  day: dayIn(row),
  amount: amountOf(row),
})

const toProgress = (row: Row): ProgressRow => ({
  run: String(row['run']),
  step: Number(row['step']),
  base: amountOf(row),
})

const toLease = (row: Row): LeaseRow => ({
  ...toSettled(row),
  session: String(row['session']),
  checks: Number(row['checks']),
  nextCheckMs: Number(row['next_check_ms']),
})
