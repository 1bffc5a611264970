import type { PluginSource } from './types/generation.ts'
import type { Clock } from '#contracts/sources.ts'

/** So many characters of bodies are kept; what was used longest ago goes first. */
const maxKeptChars = 8_000_000
/** So long nobody asks again for one that could not be read. */
const lostMs = 1_000

/** Bodies by their hash, kept: under one hash there is one content, for as long as there is anything. */
export function createBodies(
  load: (hash: string) => Promise<PluginSource>,
  { clock }: { readonly clock: Clock },
) {
  const kept = new Map<string, { readonly source: PluginSource; readonly chars: number }>()
  const lost = new Map<string, number>()
  let chars = 0
  const keep = (hash: string, source: PluginSource): void => {
    if (kept.has(hash)) return
    const size = JSON.stringify(source).length
    kept.set(hash, { source, chars: size })
    chars += size
    for (const [oldest, one] of kept) {
      if (chars <= maxKeptChars || oldest === hash) break
      kept.delete(oldest)
      chars -= one.chars
    }
  }
  return {
    /** `undefined` if it cannot be read. */
    sourceOf: async (hash: string): Promise<PluginSource | undefined> => {
      const found = kept.get(hash)
      if (found) {
        kept.delete(hash)
        kept.set(hash, found)
        return found.source
      }
      if (clock.nowMs() - (lost.get(hash) ?? -Infinity) < lostMs) return undefined
      const source = await load(hash).catch(() => undefined)
      if (source) keep(hash, source)
      if (source) lost.delete(hash)
      else lost.set(hash, clock.nowMs())
      return source
    },
  }
}
