import type { StoredPart } from './types/generation.ts'

/** So many ids are kept that were looked up. */
const maxKept = 2_000

interface Found {
  readonly number: number
  readonly parts: readonly StoredPart[]
}

/** Parts by their ids, each looked up once in a generation; also that there is none. */
export function createPartLookup(lookUp: (ids: readonly string[]) => Promise<Found>) {
  const kept = new Map<string, Found>()
  const partsOf = (id: string): readonly StoredPart[] => kept.get(id)?.parts ?? []
  return {
    /** As they were in this generation or a later one. */
    async find(ids: readonly string[], since: number): Promise<readonly StoredPart[]> {
      const isKnown = (id: string) => (kept.get(id)?.number ?? -1) >= since
      // Held here: while the rest is looked up all of it may be forgotten.
      const known = new Map(ids.filter(isKnown).map((id) => [id, partsOf(id)]))
      const missing = ids.filter((id) => !known.has(id))
      if (missing.length > 0) {
        const { number, parts } = await lookUp(missing)
        if (kept.size > maxKept) kept.clear()
        for (const id of missing) {
          const found = parts.filter((part) => part.id === id)
          kept.set(id, { number, parts: found })
          known.set(id, found)
        }
      }
      return ids.flatMap((id) => known.get(id) ?? [])
    },
    /** One that was not there may have come since. */
    forgetMissing(ids: readonly string[]): void {
      for (const id of ids) if (partsOf(id).length === 0) kept.delete(id)
    },
    clear: () => kept.clear(),
  }
}
