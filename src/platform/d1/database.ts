import type { PlatformAmounts } from '#contracts/platform.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'

/** The part of D1 that this room uses, so that a test can stand SQLite in for it. */
export interface Database {
  prepare(sql: string): Statement
  /** One transaction: all statements or none. The result of each, in their order. */
  batch(statements: Statement[]): Promise<readonly Found<Record<string, unknown>>[]>
}

/** A database that may have replicas. */
export interface ReplicatedDatabase extends Database {
  withSession(constraint: 'first-unconstrained'): Database
}

/**
 * The same database, read by its nearest replica, which may be some seconds behind: for lists and reports alone, never
 * for keys, grants, revocations, or what a write depends on. It takes no writes.
 */
export const nearest = (database: Database | ReplicatedDatabase): Database => {
  if (!('withSession' in database)) return database
  // A session would wait for what it read before.
  const session = () => database.withSession('first-unconstrained')
  return {
    prepare: (sql) => session().prepare(sql),
    batch: (statements) => session().batch(statements),
  }
}

/** The rows of a statement, and the rows that D1 bills for it. */
export interface Found<Row> {
  readonly results: readonly Row[]
  readonly meta?: { readonly rows_read?: number; readonly rows_written?: number }
}

/** The rows that D1 bills for these. */
export const billedBy = (found: readonly Pick<Found<unknown>, 'meta'>[]): PlatformAmounts => ({
  d1RowsRead: found.reduce((sum, { meta }) => sum + (meta?.rows_read ?? 0), 0),
  d1RowsWritten: found.reduce((sum, { meta }) => sum + (meta?.rows_written ?? 0), 0),
})

/** The part of a prepared statement of D1 that we use. */
export interface Statement {
  bind(...values: (string | number | null)[]): Statement
  all<Row>(): Promise<Found<Row>>
  first<Row>(): Promise<Row | null>
  run(): Promise<unknown>
}

const retryAfterMs = 5_000

/** SQLite's messages about a statement that is wrong at any time; any other error means that the database is away. */
const ofStatement =
  /SQLITE_(ERROR|CONSTRAINT|MISMATCH|MISUSE|RANGE|TOOBIG|AUTH)|D1_TYPE_ERROR|no such (table|column)|constraint failed/i

/**
 * Work that needs the database. While it is away this throws `request_unavailable` (503 with Retry-After); a
 * statement that is wrong stays the bug it is.
 */
export async function reached<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (ofStatement.test(errorMessage(cause))) throw cause
    const message = 'The database cannot be reached at the moment. Try again.'
    const detail = errorMessage(cause)
    throw new IsolaError('request_unavailable', message, {
      transient: true,
      retryAfterMs,
      detail,
      cause,
    })
  }
}

type Value = string | number | null

/**
 * The rows of a query, whose columns have the names of our fields. A column that is NULL is an absent field. Throws
 * `request_unavailable`.
 */
export async function rowsOf<Row extends object>(
  database: Database,
  sql: string,
  ...values: readonly Value[]
): Promise<readonly Row[]> {
  const statement = database.prepare(sql).bind(...values)
  const { results } = await reached(() => statement.all<Row>())
  return results.map(
    (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Row,
  )
}

/** Several statements in one transaction. Throws `request_unavailable`. */
export const together = (database: Database, ...statements: Statement[]) =>
  reached(() => database.batch(statements))
