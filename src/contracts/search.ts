/** Something that can be found: a tool, an agent or a text. */
export interface SearchDocument {
  readonly id: string
  /** Tool name without its owner (`set`), weight 3. */
  readonly name: string
  /** Owner's id and name (`kv`), weight 1. */
  readonly owner: string
  /** Weight 1. The part after `DO NOT use for …` is not searched: its words count against the document. */
  readonly description: string
  /** Parameter names and their descriptions, weight 0.5. */
  readonly parameters: string
  /** Its owner's description of itself, weight 0.5: facts that a tool's own text takes for granted. */
  readonly ownerDescription?: string
  /** A long text behind the description, weight 0.3. Only in an index of its own: its length would count here. */
  readonly body?: string
}

/** A document whose words were read already: all that an index is built of. */
export interface ReadSearchDocument extends Pick<SearchDocument, 'id' | 'owner'> {
  /** In words, as its fields lengthen it. */
  readonly length: number
  /** Each once, and in the same order what its occurrences count together. */
  readonly terms: readonly string[]
  readonly counts: readonly number[]
  /** Terms of its name. */
  readonly names: readonly string[]
  /** Terms that it says it is not for. */
  readonly excluded: readonly string[]
}

/** A document that was found. */
export interface SearchHit {
  readonly id: string
  /** BM25 and what follows from it; higher is better, only comparable within one query. */
  readonly score: number
  /** The BM25 score of the query's own words: how well it fits at all, apart from its rank. */
  readonly fit: number
  /** The query's words that it has itself, not by a synonym. */
  readonly matched: readonly string[]
}

/** The cost of one search. */
interface SearchCost {
  /** Entries of the index that were read. */
  readonly rowsRead: number
}

/**
 * A built index over documents. Deterministic: equal scores keep the documents' order. No query text raises an
 * error.
 */
export interface SearchIndex {
  /** One query, or several whose hits are merged round-robin. */
  readonly search: (
    queries: readonly string[],
    limit: number,
    onCost?: (cost: SearchCost) => void,
  ) => readonly SearchHit[]
}

/** Makes an index over documents that stay as they are. */
export type BuildSearchIndex = (
  documents: readonly (SearchDocument | ReadSearchDocument)[],
) => SearchIndex
