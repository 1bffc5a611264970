import type { JsonObject } from './json.ts'

/** Parameterized SQL on a database that was granted (I20). */
export interface DatabaseClient {
  readonly query: (
    sql: string,
    params: readonly (string | number | null)[],
  ) => Promise<readonly JsonObject[]>
}
