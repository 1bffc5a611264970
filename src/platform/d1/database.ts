import type { PlatformAmounts } from '#contracts/platform.ts'

/** The part of D1 that this room uses, so that a test can stand SQLite in for it. */
export interface Database {
  prepare(sql: string): Statement
  /** One transaction: all statements or none. The result of each, in their order. */
  batch(statements: Statement[]): Promise<readonly Found<Record<string, unknown>>[]>
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
