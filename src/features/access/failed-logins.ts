import { defined } from '#contracts/defined.ts'
import type { FailedLogin, FailedLoginVerdict } from '#runtime/session/types/principal.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { PrincipalStorage } from './principal-rows.ts'

/** How many wrong keys an address may show in a window. */
export const maxFailures = 30
/** Length of a window, counted from the first wrong key. */
export const failureWindowMs = 600_000
/**
 * How many rows a window may add to the record: so many for unknown keys, and so many for ended keys. Then only the
 * sum.
 */
const maxRecords = 100
/** Rows that belong to no address: the count of all addresses, and the count of recorded rows. */
const everybody = ''
const recorded = ' recorded'

const table = `
  CREATE TABLE IF NOT EXISTS failed_logins (${tablesMark}
    address TEXT NOT NULL, key TEXT NOT NULL, since_ms INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (address, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS failed_logins_by_time ON failed_logins (since_ms);`

const upsert = `
  INSERT INTO failed_logins (address, key, since_ms, count) VALUES (?1, ?2, ?3, 1)
  ON CONFLICT (address, key) DO UPDATE SET count = count + 1
  RETURNING count`

/**
 * Counts wrong keys by address and key in one object of its own, each for a window that begins with the first of them,
 * and decides which failures go on the record.
 */
export function createFailedLoginLog(storage: PrincipalStorage) {
  const { sql } = storage
  const numberIn = (query: string, ...values: (string | number)[]) =>
    Number(Object.values(sql.exec(query, ...values).toArray()[0] ?? {})[0] ?? 0)

  /** The row for the record, if this failure gets one. */
  const recordOf = (failed: FailedLogin, ofAddress: number, nowMs: number) => {
    const count = (address: string, key = '') => numberIn(upsert, address, key, nowMs)
    const own = count(failed.address, failed.key)
    const all = count(everybody)
    const isTooMany = ofAddress === maxFailures + 1
    if (!isTooMany && !isMilestone(own)) return undefined
    // Guesses must not hide which clients still use a revoked key.
    if (count(recorded, failed.key && 'keys') <= maxRecords)
      return { ...failed, count: isTooMany ? ofAddress : own }
    return isMilestone(all) ? { count: all } : undefined
  }

  const fail = (failed: FailedLogin, nowMs: number): FailedLoginVerdict => {
    sql.exec(table)
    dropEnded(storage, nowMs)
    const of = 'FROM failed_logins WHERE address = ?'
    const ofAddress = numberIn(`SELECT sum(count) ${of}`, failed.address) + 1
    const record = recordOf(failed, ofAddress, nowMs)
    const isLimited = ofAddress > maxFailures
    const sinceMs = isLimited ? numberIn(`SELECT min(since_ms) ${of}`, failed.address) : 0
    return {
      ...(isLimited && { retryAfterMs: Math.max(sinceMs + failureWindowMs - nowMs, 1_000) }),
      ...defined({ record }),
    }
  }
  return {
    failed: (failed: FailedLogin, nowMs: number) =>
      storage.transactionSync(() => fail(failed, nowMs)),
  }
}

/** A clock that went back must not keep a window open for longer than a window. */
function dropEnded({ sql }: PrincipalStorage, nowMs: number): void {
  const ended = 'DELETE FROM failed_logins WHERE since_ms <= ? OR since_ms > ?'
  sql.exec(ended, nowMs - failureWindowMs, nowMs + failureWindowMs)
}

/** True for 1, 10, 100 …: a flood becomes a few rows. */
const isMilestone = (count: number) => /^10*$/.test(String(count))
