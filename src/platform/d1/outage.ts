import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { Database, Statement } from './database.ts'

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
