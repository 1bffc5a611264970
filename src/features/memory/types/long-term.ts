import type { MemoryRequest, MemoryAnswer } from '#contracts/long-term.ts'
import type { Reply } from '#contracts/reply.ts'

/** Most that a place holds; the oldest go first. */
export const maxNotesOfPlace = 10_000

export const maxNoteChars = 4_000

/** The RPC methods of an object with notes. */
export interface MemoryApi {
  readonly memory: (request: MemoryRequest) => Promise<Reply<MemoryAnswer>>
}

/** Whose objects have notes: a principal is in it from its first note on. Throws `request_unavailable`. */
export interface MemoryOwners {
  readonly add: (principal: string) => Promise<void>
  readonly list: () => Promise<readonly string[]>
}
