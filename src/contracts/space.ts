import type { Json } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'

/** A note of the scratchpad. */
export interface MemoryEntry {
  readonly id: string
  readonly text: string
  readonly atMs: number
}

/** The storage verbs, run in the object of the space's owner. */
export type StorageRequest =
  | { readonly verb: 'get' | 'delete'; readonly space: string; readonly key: string }
  | {
      readonly verb: 'set'
      readonly space: string
      readonly key: string
      readonly value: Json
      /** The label of the value; least trusted if absent. */
      readonly label?: Label
      readonly quotaBytes: number
      /** A value that does not fit displaces the oldest values instead of being refused. */
      readonly evicts?: true
      /** The label is joined with the stored value's label, in one step. */
      readonly joins?: true
    }
  /**
   * Sets the value and answers `found: false`. If the value is stored already, writes nothing and answers `found:
   * true`.
   */
  | {
      readonly verb: 'claim'
      readonly space: string
      readonly key: string
      readonly value: string
    }
  | {
      readonly verb: 'list'
      readonly space: string
      readonly prefix: string
      readonly limit: number
    }
  | {
      readonly verb: 'append'
      readonly space: string
      readonly text: string
      readonly label?: Label
      readonly maxEntries: number
      /** Of all entries together, as JSON. The new entry is always stored. */
      readonly maxChars?: number
    }
  | { readonly verb: 'entries'; readonly space: string; readonly limit: number }
  | { readonly verb: 'clear'; readonly space: string }

/** Named values and short entries in spaces that do not see each other, within one Durable Object. */
export type Space = (request: StorageRequest) => StorageAnswer

/** `error` says why nothing was stored (quota, key, size), safe for a model. */
export interface StorageAnswer {
  readonly error?: string
  readonly value?: Json
  /** The label of the value, or of all keys or entries together. Least trusted for a value without a label. */
  readonly label?: Label | undefined
  readonly found?: boolean
  readonly keys?: readonly string[]
  readonly entries?: readonly MemoryEntry[]
}
