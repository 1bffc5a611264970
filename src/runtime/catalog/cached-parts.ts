import type { PluginSource, StoredPart } from './types/generation.ts'
import type { Clock } from '#contracts/sources.ts'

const maxCachedIds = 2_000
const maxCachedChars = 8_000_000
/** How long a body counts as missing after it could not be read. */
const missingMs = 1_000

interface Found {
  /** The generation that the parts are of. */
  readonly number: number
  readonly parts: readonly StoredPart[]
}

/** Parts by their ids, each looked up once in a generation; also that an id has none. */
export function createPartLookup(lookUp: (ids: readonly string[]) => Promise<Found>) {
  const cached = new Map<string, Found>()
  const partsOf = (id: string): readonly StoredPart[] => cached.get(id)?.parts ?? []
  return {
    /** The parts of this generation or a later one. */
    async find(ids: readonly string[], since: number): Promise<readonly StoredPart[]> {
      const isKnown = (id: string) => (cached.get(id)?.number ?? -1) >= since
      // A copy: the cache may be cleared while the rest is looked up.
      const known = new Map(ids.filter(isKnown).map((id) => [id, partsOf(id)]))
      const missing = ids.filter((id) => !known.has(id))
      if (missing.length > 0) {
        const { number, parts } = await lookUp(missing)
        if (cached.size > maxCachedIds) cached.clear()
        for (const id of missing) {
          const found = parts.filter((part) => part.id === id)
          cached.set(id, { number, parts: found })
          known.set(id, found)
        }
      }
      return ids.flatMap((id) => known.get(id) ?? [])
    },
    /** A part that was missing may have been added since. */
    forgetMissing(ids: readonly string[]): void {
      for (const id of ids) if (partsOf(id).length === 0) cached.delete(id)
    },
    clear: () => cached.clear(),
  }
}

/**
 * Reads bodies by their hash and caches them, since a hash has one content for ever. The body that was used longest ago
 * leaves the cache first. Answers `undefined` for a body that cannot be read.
 */
export function createBodyCache(
  load: (hash: string) => Promise<PluginSource>,
  { nowMs }: Pick<Clock, 'nowMs'>,
) {
  const cached = new Map<string, { readonly source: PluginSource; readonly chars: number }>()
  const missing = new Map<string, number>()
  let chars = 0
  const add = (hash: string, source: PluginSource): void => {
    if (cached.has(hash)) return
    const size = JSON.stringify(source).length
    cached.set(hash, { source, chars: size })
    chars += size
    for (const [oldest, body] of cached) {
      if (chars <= maxCachedChars || oldest === hash) break
      cached.delete(oldest)
      chars -= body.chars
    }
  }
  return async (hash: string): Promise<PluginSource | undefined> => {
    const found = cached.get(hash)
    if (found) {
      // Written again, so that it is the newest in the order of the map.
      cached.delete(hash)
      cached.set(hash, found)
      return found.source
    }
    if (nowMs() - (missing.get(hash) ?? -Infinity) < missingMs) return undefined
    const source = await load(hash).catch(() => undefined)
    if (source) {
      add(hash, source)
      missing.delete(hash)
    } else missing.set(hash, nowMs())
    return source
  }
}
