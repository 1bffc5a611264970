import type { DayAmount } from '#runtime/session/types/principal.ts'
import { tablesMark } from '#contracts/objects.ts'
import { minus, nothing } from './day.ts'

/** An open reservation. */
export interface LeaseRow {
  readonly run: string
  readonly session: string
  readonly day: string
  readonly amount: DayAmount
  /** How many sweeps have met it. At 0 the reservation may be so young that its run is not written yet. */
  readonly checks: number
  /** When a sweep is to look at the reservation, epoch milliseconds. */
  readonly nextCheckMs: number
}

/** What a run spent in a day. */
interface SettledRow {
  readonly run: string
  readonly day: string
  readonly amount: DayAmount
}

/** How far a run has come. A run that never went on after its settlement needs no row. */
export interface ProgressRow {
  readonly run: string
  /** A message of an earlier step than this is late. */
  readonly step: number
  /** What the run settled in days that were over when it went on. */
  readonly base: DayAmount
}

/** The part of a Durable Object's storage that this room uses, so that a test can use SQLite in its place. */
export interface PrincipalStorage {
  readonly sql: {
    exec(query: string, ...values: (string | number)[]): { toArray(): Row[] }
  }
  transactionSync<T>(work: () => T): T
}

type Row = Record<string, unknown>
type Exec = (query: string, ...values: (string | number)[]) => Row[]

// REAL holds the sum of absurd figures too, where an integer would overflow and block every settlement.
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

/** The tables of a principal's days. */
export type PrincipalRows = ReturnType<typeof createPrincipalRows>

/**
 * The rows of one principal's days. The tables are made with the first write, so that a principal without a limit has
 * none. Every method is synchronous. `together` makes several of them one transaction, and every write happens inside
 * one.
 */
export function createPrincipalRows(storage: PrincipalStorage) {
  let isReady = false
  const exec: Exec = (query, ...values) => storage.sql.exec(query, ...values).toArray()
  const exists = (): boolean =>
    (isReady ||= exec(`SELECT 1 FROM sqlite_master WHERE name = 'leases'`).length > 0)
  const read: Exec = (query, ...values) => (exists() ? exec(query, ...values) : [])

  return {
    ...createLeaseRows(exec, read),
    ...createDayRows(exec, read),
    together<T>(work: () => T): T {
      const wasReady = exists()
      try {
        return storage.transactionSync(() => {
          if (!isReady) exec(tables)
          isReady = true
          return work()
        })
      } catch (error) {
        isReady = wasReady // the rollback removed the tables too
        throw error
      }
    },
  }
}

function createLeaseRows(exec: Exec, read: Exec) {
  return {
    leases: () => read('SELECT * FROM leases ORDER BY run').map(toLease),
    lease: (run: string) => read('SELECT * FROM leases WHERE run = ?', run).map(toLease)[0],
    openLease({ run, session, day, amount, nextCheckMs }: Omit<LeaseRow, 'checks'>): void {
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
    closeLease: (run: string) => void exec('DELETE FROM leases WHERE run = ?', run),
    checkLater(run: string, nextCheckMs: number): void {
      const sql = 'UPDATE leases SET checks = checks + 1, next_check_ms = ? WHERE run = ?'
      exec(sql, nextCheckMs, run)
    },
  }
}

function createDayRows(exec: Exec, read: Exec) {
  const settled = (run: string) =>
    read('SELECT * FROM settled WHERE run = ?', run).map(toSettled)[0]
  /** Adds to a day's sum. A late settlement brings a dropped day back. */
  const book = (day: string, { tokens, costNanoUsd }: DayAmount) => {
    const sql = `
      INSERT INTO days (day, tokens, cost_nano_usd) VALUES (?1, max(0, ?2), max(0, ?3))
      ON CONFLICT (day) DO UPDATE SET
        tokens = max(0, tokens + ?2), cost_nano_usd = max(0, cost_nano_usd + ?3)`
    exec(sql, day, tokens, costNanoUsd)
  }
  /** Deletes the row; its amount stays in its day's sum for good. */
  const leaveSettled = (run: string) => void exec('DELETE FROM settled WHERE run = ?', run)
  return {
    /** The last day with a reservation or a settlement. */
    lastDay: () => read('SELECT day FROM days ORDER BY day DESC LIMIT 1').map(dayIn)[0],
    /** Writes the day's row, so that days do not go backwards. */
    openDay: (day: string) => void exec('INSERT OR IGNORE INTO days (day) VALUES (?)', day),
    dropDaysBefore(day: string): void {
      exec('DELETE FROM settled WHERE day < ?', day)
      exec('DELETE FROM days WHERE day < ?', day)
      exec(`
        DELETE FROM progress WHERE run NOT IN (SELECT run FROM settled)
          AND run NOT IN (SELECT run FROM leases)`)
    },
    settledIn: (day: string) =>
      read('SELECT * FROM days WHERE day = ?', day).map(amountOf)[0] ?? nothing,
    settled,
    /**
     * Inserts or replaces the row, and updates the day's sum. The row of an earlier day must have left it before
     * (`leaveSettled`).
     */
    writeSettled({ run, day, amount }: SettledRow): void {
      book(day, minus(amount, settled(run)?.amount ?? nothing))
      const sql =
        'INSERT OR REPLACE INTO settled (run, day, tokens, cost_nano_usd) VALUES (?, ?, ?, ?)'
      exec(sql, run, day, amount.tokens, amount.costNanoUsd)
    },
    /** Deletes the row and subtracts it from its day's sum. */
    removeSettled(run: string): void {
      const row = settled(run)
      if (!row) return
      book(row.day, minus(nothing, row.amount))
      leaveSettled(run)
    },
    leaveSettled,
    progress: (run: string): ProgressRow =>
      read('SELECT * FROM progress WHERE run = ?', run).map(toProgress)[0] ?? {
        run,
        step: 0,
        base: nothing,
      },
    writeProgress({ run, step, base }: ProgressRow): void {
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
