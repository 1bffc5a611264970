import type { RateRequest, RateVerdict } from '#runtime/session/types/principal.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { PrincipalStorage } from './principal-rows.ts'

/** How long a call counts. */
export const rateWindowMs = 60_000

const table = `
  CREATE TABLE IF NOT EXISTS rate_calls (${tablesMark}
    key TEXT NOT NULL, call TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY (key, call)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS rate_calls_by_time ON rate_calls (at_ms);`

/** Counts calls by key over the last minute, across all runs, and accepts a call only if every rule allows it. */
export function createRateWindow(storage: PrincipalStorage) {
  const { sql } = storage
  const take = ({ call, rules }: RateRequest, nowMs: number): RateVerdict => {
    sql.exec(table)
    // A clock that was set back must not keep a call counted for longer than a window.
    const ended = 'DELETE FROM rate_calls WHERE at_ms <= ? OR at_ms > ?'
    sql.exec(ended, nowMs - rateWindowMs, nowMs + rateWindowMs)
    const waits = rules.map(({ key, most }) => {
      const query =
        'SELECT count(*) AS calls, coalesce(min(at_ms), 0) AS since FROM rate_calls WHERE ' +
        'key = ? AND call <> ?'
      const { calls, since } = sql.exec(query, key, call).toArray()[0] ?? {}
      if (Number(calls ?? 0) < most) return 0
      return Number(calls ?? 0) === 0 ? rateWindowMs : Number(since) + rateWindowMs - nowMs
    })
    const retryAfterMs = Math.max(0, ...waits)
    if (retryAfterMs > 0) return { retryAfterMs }
    for (const { key } of rules)
      sql.exec('INSERT OR IGNORE INTO rate_calls VALUES (?, ?, ?)', key, call, nowMs)
    return {}
  }
  return {
    /**
     * A call counts for all of the rules, or, if one of them is exceeded, for none. The same call id is counted once.
     */
    take: (request: RateRequest, nowMs: number) =>
      storage.transactionSync(() => take(request, nowMs)),
  }
}
