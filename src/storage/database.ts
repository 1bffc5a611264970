/** The part of D1 that this room uses, so that a test can stand SQLite in for it. */
export interface Database {
  prepare(sql: string): Statement
  /** One transaction: all of them or none. What each found, in their order. */
  batch(
    statements: Statement[],
  ): Promise<readonly { readonly results: readonly Record<string, unknown>[] }[]>
}

/** What we use of a prepared statement of D1. */
export interface Statement {
  bind(...values: (string | number | null)[]): Statement
  all<Row>(): Promise<{ readonly results: readonly Row[] }>
  first<Row>(): Promise<Row | null>
  run(): Promise<unknown>
}
