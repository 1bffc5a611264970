import type { MemoryEntry } from '#contracts/space.ts'
import type { MemoryScope, NotePlace } from '#contracts/long-term.ts'

/** The place of a scope; `agent` names the agent for that scope. */
export const placeOf = (scope: MemoryScope, agent: string): NotePlace =>
  scope === 'agent' ? `agent:${agent}` : scope

/** A stream that the agent declares; the scratchpad if absent. */
interface OfStream {
  readonly stream?: string
}

/** The space of a stream's notes, and how many it holds. */
export interface StreamBounds {
  readonly space: string
  readonly max_items: number
  readonly max_chars: number
}

/** Throws `tool_failed` for a stream that the agent does not declare. */
export type StreamOf = (name: string) => Promise<StreamBounds>

/** Short-term memory of a session: append-only notes with search (I21). Bounded; the oldest go first. */
export interface MemoryClient {
  readonly append: (text: string, options?: OfStream) => Promise<MemoryEntry>
  /** Newest last. */
  readonly read: (
    options?: OfStream & { readonly limit?: number },
  ) => Promise<readonly MemoryEntry[]>
  readonly search: (
    query: string,
    options?: OfStream & { readonly limit?: number },
  ) => Promise<readonly MemoryEntry[]>
  readonly clear: (options?: OfStream) => Promise<void>
}
