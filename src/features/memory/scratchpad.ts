import { defined } from '#contracts/defined.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { MemoryClient, StreamBounds, StreamOf } from '#features/plugins/types/memory.ts'
import type { MemoryEntry, StorageAnswer, StorageRequest } from '#contracts/space.ts'
import type { BuildSearchIndex } from '#contracts/search.ts'

const maxEntries = 1_000
const maxTextChars = 8_000
const defaultRead = 50
const defaultFound = 10

/** Where notes are kept, and how they are searched. */
interface ScratchpadDeps {
  /** Runs one storage verb in the object of the session that keeps it. */
  readonly storage: (request: StorageRequest) => Promise<StorageAnswer>
  readonly buildIndex: BuildSearchIndex
  readonly streamOf: StreamOf
  /** Takes out of a text the secrets that this deployment knows. */
  readonly redact: (text: string) => string
}

/**
 * Short-term memory of a session (I21): at most 1,000 entries of 8,000 characters, in a stream as many as its agent
 * says; the oldest go first.
 * `append` answers the entry that the storage made, first of `entries`.
 */
export function createScratchpad({
  storage,
  buildIndex,
  streamOf,
  redact,
}: ScratchpadDeps): MemoryClient {
  const boundsOf = async (
    stream: string | undefined,
  ): Promise<Omit<StreamBounds, 'max_chars'> & Partial<StreamBounds>> =>
    stream === undefined ? { space: 'memory', max_items: maxEntries } : streamOf(String(stream))
  const read = async (limit: number, stream?: string): Promise<readonly MemoryEntry[]> => {
    const { space } = await boundsOf(stream)
    return (await storage({ verb: 'entries', space, limit })).entries ?? []
  }
  return {
    async append(given, { stream } = {}) {
      const text = redact(parseText(given))
      const { space, max_items: most, max_chars: chars } = await boundsOf(stream)
      if (chars !== undefined && JSON.stringify(text).length > chars)
        throw new IsolaError('tool_failed', `The stream ${stream} holds ${chars} characters.`)
      const bounds = { maxEntries: most, ...defined({ maxChars: chars }) }
      const { entries, error } = await storage({ verb: 'append', space, text, ...bounds })
      const entry = entries?.at(-1)
      if (!entry) throw new IsolaError('tool_failed', error ?? 'The note was not kept.')
      return entry
    },
    read: ({ limit = defaultRead, stream } = {}) => read(clamp(limit), stream),
    async search(query, { limit = defaultFound, stream } = {}) {
      if (typeof query !== 'string') throw new IsolaError('tool_failed', 'A query is a string.')
      return search(await read(maxEntries, stream), query, clamp(limit), buildIndex)
    },
    async clear({ stream } = {}) {
      await storage({ verb: 'clear', space: (await boundsOf(stream)).space })
    },
  }
}

function parseText(text: unknown): string {
  if (typeof text === 'string' && text.trim() !== '' && text.length <= maxTextChars) return text
  throw new IsolaError('tool_failed', `A note is a text of 1 to ${maxTextChars} characters.`)
}

function clamp(limit: number): number {
  return Number.isInteger(limit) ? Math.min(Math.max(limit, 1), maxEntries) : defaultRead
}

/** Best match first. */
function search(
  entries: readonly MemoryEntry[],
  query: string,
  limit: number,
  buildIndex: BuildSearchIndex,
): readonly MemoryEntry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const index = buildIndex(
    entries.map(({ id, text }) => ({ id, name: '', owner: '', description: text, parameters: '' })),
  )
  return index.search([query], limit).flatMap(({ id }) => byId.get(id) ?? [])
}
