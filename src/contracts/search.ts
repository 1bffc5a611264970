/** Something that can be found: a tool or an agent. */
export interface SearchDocument {
  readonly id: string
  /** Tool name without its owner (`set`), weight 3. */
  readonly name: string
  /** Owner's id and name (`kv`), weight 1. */
  readonly owner: string
  /** Weight 1. */
  readonly description: string
  /** Parameter names and their descriptions, weight 0.5. */
  readonly parameters: string
}

/** A document that was found. */
export interface SearchHit {
  readonly id: string
  /** BM25; higher is better, only comparable within one query. */
  readonly score: number
  readonly matched: readonly string[]
}

/** A built index over documents. Deterministic: equal scores keep the documents' order. No query text raises an error. */
export interface SearchIndex {
  /** One query, or several whose hits are merged round-robin. */
  readonly search: (queries: readonly string[], limit: number) => readonly SearchHit[]
}

/** Makes an index over documents that stay as they are. */
export type BuildSearchIndex = (documents: readonly SearchDocument[]) => SearchIndex
