import type { Json, JsonObject } from './json.ts'

/** A note of the scratchpad. */
export interface MemoryEntry {
  readonly id: string
  readonly text: string
  readonly atMs: number
}

/** Short-term memory of a session: an append-only scratchpad with search (I21). Bounded; the oldest go first. */
export interface MemoryClient {
  readonly append: (text: string) => Promise<MemoryEntry>
  /** Newest last. */
  readonly read: (options?: { readonly limit?: number }) => Promise<readonly MemoryEntry[]>
  readonly search: (
    query: string,
    options?: { readonly limit?: number },
  ) => Promise<readonly MemoryEntry[]>
  readonly clear: () => Promise<void>
}

/** Named values, JSON, at most 1 MiB each; a quota for the whole. */
export interface KeyValueStore {
  readonly get: (key: string) => Promise<Json | undefined>
  readonly set: (key: string, value: Json) => Promise<void>
  readonly delete: (key: string) => Promise<boolean>
  readonly list: (options?: {
    readonly prefix?: string
    readonly limit?: number
  }) => Promise<readonly string[]>
}

/** Parameterized SQL on a database that was granted (I20). */
export interface DatabaseClient {
  readonly query: (
    sql: string,
    params: readonly (string | number | null)[],
  ) => Promise<readonly JsonObject[]>
}
