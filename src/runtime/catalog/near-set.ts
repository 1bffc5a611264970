import * as z from 'zod'
import type { PartKind, PluginSnapshot, PluginSource, StoredPart } from './types/generation.ts'
import { lengthPrefixed } from '#contracts/objects.ts'
import type { Clock } from '#contracts/sources.ts'
import { toSnapshot, withNeeds, type NeedsDeps } from './part-needs.ts'
import type { StoredParts } from './stored-parts.ts'

/** The parts that every run has, with the sources for wiring them. */
export interface CommonSet {
  readonly number: number
  readonly parts: readonly StoredPart[]
  readonly snapshot: PluginSnapshot
}

/** Puts a set together from the parts that every run has. */
export async function toCommonSet(
  { number, parts }: Pick<CommonSet, 'number' | 'parts'>,
  needs: NeedsDeps,
): Promise<CommonSet> {
  const set = await withNeeds({ parts }, needs)
  return { number, parts: set.parts, snapshot: toSnapshot(number, set) }
}

/** Whether every body could be read. A missing body may come back without a change. */
export const isComplete = ({ parts, snapshot }: CommonSet): boolean =>
  parts.every(({ bodies }) => bodies.every((hash) => Object.hasOwn(snapshot.sources, hash)))

/** The part of KV that this room uses. */
export interface NearStore {
  get(key: string): Promise<string | null>
  put(key: string, value: string, options?: { readonly expirationTtl: number }): Promise<void>
}

/** The copy of the set in force that lies in KV, near every isolate. The Catalog alone writes it. */
export interface NearSet {
  /** `undefined` for no copy, or for an entry that is none. Never rejects. */
  readonly read: () => Promise<CommonSet | undefined>
  /** May reject. */
  readonly write: (set: CommonSet) => Promise<void>
}

interface NearSetDeps {
  readonly store: NearStore
  /** A secret of this deployment. Without one there is no copy. */
  readonly key: string | undefined
  readonly keyedHash: (key: Uint8Array, text: string) => Uint8Array
  readonly sha256: (text: string) => string
}

const entryKey = 'set-in-force'
/** Raised with each change of the entry's shape: another version's entry counts as none. */
const shape = 1
/** A copy that was not written for a day is gone: so long may a write that was lost be believed, and no longer. */
const keepSeconds = 86_400

const kinds = ['plugin', 'bundled', 'mcp', 'policy', 'exposure', 'skill'] as const
const entrySchema = z.object({
  shape: z.literal(shape),
  number: z.int().min(0),
  parts: z.array(
    z.object({
      kind: z.enum(kinds satisfies readonly PartKind[]),
      id: z.string(),
      pin: z.looseObject({ id: z.string() }),
      epoch: z.number(),
      bodies: z.array(z.string()),
      needs: z.array(z.string()).optional(),
    }),
  ),
  sources: z.record(
    z.string(),
    z.object({ manifest: z.unknown(), files: z.record(z.string(), z.string()) }),
  ),
})

/**
 * An entry begins with a hash under a key of the deployment: a text that only has access to KV could otherwise permit
 * a plugin more than an operator did (docs/security.md T24).
 */
export function createNearSet({ store, key, keyedHash, sha256 }: NearSetDeps): NearSet | undefined {
  const secret = key?.trim()
  if (!secret) return undefined
  const own = new TextEncoder().encode(sha256(lengthPrefixed(['near-set', secret])))
  const markOf = (text: string): string =>
    Array.from(keyedHash(own, text), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const parse = (entry: string | null): CommonSet | undefined => {
    const text = entry?.slice(64) ?? ''
    if (!entry || markOf(text) !== entry.slice(0, 64)) return undefined
    const parsed = entrySchema.safeParse(JSON.parse(text))
    if (!parsed.success) return undefined
    const { number, sources } = parsed.data
    const parts = parsed.data.parts as unknown as readonly StoredPart[] // the Catalog wrote them
    const set = { number, parts, snapshot: toSnapshot(number, { parts, sources }) }
    return isComplete(set) ? set : undefined
  }
  return {
    read: async () =>
      store
        .get(entryKey)
        .then(parse)
        .catch(() => undefined),
    async write({ number, parts, snapshot: { sources } }) {
      const text = JSON.stringify({ shape, number, parts, sources })
      await store.put(entryKey, markOf(text) + text, { expirationTtl: keepSeconds })
    },
  }
}

interface SetCopierDeps {
  readonly near: NearSet | undefined
  readonly kept: Pick<StoredParts, 'number' | 'always' | 'named'>
  readonly sourceOf: (hash: string) => Promise<PluginSource | undefined>
  readonly clock: Clock
}

/** KV shows an older entry for up to a minute after a write: a reader who found it so reports nothing new. */
const pauseMs = 60_000
/** KV takes one write of a key in a second. */
const retryMs = 1_100
const maxAttempts = 4

/**
 * Writes the Catalog's set to its copy, one write after the other, so that no older set comes after a newer one.
 */
export function createSetCopier({ near, kept, sourceOf, clock }: SetCopierDeps) {
  let isDue = false
  let writing: Promise<void> | undefined
  let written: { readonly number: number; readonly atMs: number } | undefined

  /** @returns Whether there is nothing more to write. */
  const write = async (): Promise<boolean> => {
    const number = kept.number()
    if (!near || number === undefined) return true
    const find = async (ids: readonly string[]) => kept.named(ids)
    const set = await toCommonSet({ number, parts: kept.always() }, { find, sourceOf })
    // A change came in between, and is written after this.
    if (kept.number() !== number) return true
    if (!isComplete(set)) return false
    written = { number, atMs: clock.nowMs() }
    await near.write(set)
    return true
  }
  const writeAll = async (): Promise<void> => {
    for (let attempts = 1; isDue && attempts <= maxAttempts; attempts += 1) {
      isDue = false
      if (await write().catch(() => false)) {
        attempts = 0
        continue
      }
      written = undefined
      isDue = attempts < maxAttempts
      if (isDue) await clock.sleep(retryMs)
    }
  }
  const begin = (): Promise<void> => {
    isDue = true
    return (writing ??= writeAll().finally(() => (writing = undefined)))
  }
  return {
    /** The set has changed. Never rejects. */
    changed: begin,
    /** A reader found this generation in the copy, or none. Never rejects. */
    async foundOlder(found: number | undefined): Promise<void> {
      const number = kept.number()
      if (writing || number === undefined || (found !== undefined && found >= number)) return
      const sinceMs = clock.nowMs() - (written?.atMs ?? -Infinity)
      if (written?.number === number && sinceMs >= 0 && sinceMs < pauseMs) return
      await begin()
    },
  }
}
