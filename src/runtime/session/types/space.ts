import type { Json } from '#contracts/json.ts'
import type { Label } from '#contracts/label.ts'
import type { MemoryEntry } from './memory.ts'

/** The storage verbs, run in the object of whoever keeps it. */
export type StorageRequest =
  | { readonly verb: 'get' | 'delete'; readonly space: string; readonly key: string }
  | {
      readonly verb: 'set'
      readonly space: string
      readonly key: string
      readonly value: Json
      /** Of what is kept; the worst if absent. */
      readonly label?: Label
      readonly quotaBytes: number
      /** What does not fit displaces the oldest values, instead of being refused. */
      readonly evicts?: true
      /** The label is joined with that of what stands there, in one step. */
      readonly joins?: true
    }
  /** Sets it and answers `found: false`; `found: true`, and nothing is written, if this is what it has already. */
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
      /** Of all entries together, as JSON; what comes in stays in any case. */
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
  /** Of what was read; of keys and entries of all of them. The worst for what nobody labelled. */
  readonly label?: Label | undefined
  readonly found?: boolean
  readonly keys?: readonly string[]
  readonly entries?: readonly MemoryEntry[]
}
