import { IsolaError } from '#contracts/errors.ts'
import type { BundleStore } from '#runtime/catalog/types/plugin-catalog.ts'
import type { Clock } from '#contracts/sources.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import { readerOf } from './plugin-rows.ts'

/** Length of one part in characters: a row holds at most 2 MB, and a character may be three bytes. */
const partChars = 600_000

/** The part of KV that this room uses. */
export interface Namespace {
  get(key: string): Promise<string | null>
  put(key: string, value: string, options?: { readonly expirationTtl: number }): Promise<void>
  delete(key: string): Promise<void>
}

/** D1, and KV as a cache in front of it. */
export interface BundlesDeps {
  readonly database: Database
  readonly namespace: Namespace
  readonly sha256: (text: string) => string
  readonly clock: Pick<Clock, 'nowMs'>
}

/** The statements that store a bundle, to be committed with the rest of a change. */
export function bundleRows(
  database: Database,
  { hash, text, atMs }: { readonly hash: string; readonly text: string; readonly atMs: number },
): readonly Statement[] {
  const parts = text.match(new RegExp(`[^]{1,${partChars}}`, 'gu')) ?? []
  const insert = `INSERT INTO plugin_bundles (hash, part, text, saved_at_ms) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (hash, part) DO UPDATE SET (text, saved_at_ms) = (?3, ?4)`
  return parts.map((part, index) => database.prepare(insert).bind(hash, index, part, atMs))
}

const keyOf = (hash: string): string => `bundle:${hash}`

/**
 * Bundles under their own hash: KV is near and may be stale; D1 is read if KV has no copy or a wrong one. A text
 * whose hash differs from its name is never used (docs/security.md T24).
 */
export function createBundleStore({
  database,
  namespace,
  sha256,
  clock,
}: BundlesDeps): BundleStore {
  const isRight = (hash: string, text: string | null | undefined): text is string =>
    typeof text === 'string' && sha256(text) === hash
  const read = readerOf(database)
  const fromDatabase = async (hash: string): Promise<string> => {
    const sql = 'SELECT text FROM plugin_bundles WHERE hash = ?1 ORDER BY part'
    const results = await read<{ readonly text: string }>(sql, hash)
    return results.map(({ text }) => text).join('')
  }
  // D1 has the bundle: the copy in KV only saves time.
  const copy: BundleStore['copy'] = (hash, text) => namespace.put(keyOf(hash), text).catch(() => {})
  const checked: BundleStore['checked'] = (hash, text) => {
    if (!isRight(hash, text)) throw new Error('A bundle is kept under its own hash.')
    return { hash, text }
  }
  return {
    checked,
    copy,
    async save(hash, text) {
      const rows = bundleRows(database, { ...checked(hash, text), atMs: clock.nowMs() })
      await reached(() => database.batch([...rows]))
      await copy(hash, text)
    },
    async remove(hashes, beforeMs) {
      // KV first: a copy would be orphaned once D1's row is gone.
      await Promise.all(hashes.map((hash) => reached(() => namespace.delete(keyOf(hash)))))
      const list = JSON.stringify(hashes)
      const isListed = 'hash IN (SELECT value FROM json_each(?1))'
      await reached(() =>
        database.batch([
          database
            .prepare(`DELETE FROM plugin_bundles WHERE ${isListed} AND saved_at_ms < ?2`)
            .bind(list, beforeMs),
          // The manifest is deleted too: it may be a quarter of a megabyte.
          ...[
            ['plugin_versions', 'manifest'],
            ['skill_versions', 'about'],
          ].map(([table, long]) =>
            database
              .prepare(
                `UPDATE ${table} SET (collected_at_ms, ${long}) = (?2, '{}') WHERE ${isListed}
                  AND NOT EXISTS (SELECT 1 FROM plugin_bundles WHERE plugin_bundles.hash = ${table}.hash)`,
              )
              .bind(list, clock.nowMs()),
          ),
        ]),
      )
    },
    async load(hash) {
      const near = await namespace.get(keyOf(hash)).catch(() => undefined)
      if (isRight(hash, near)) return near
      const kept = await fromDatabase(hash)
      if (isRight(hash, kept)) {
        void copy(hash, kept)
        return kept
      }
      const what = kept === '' ? 'there is no' : 'somebody changed the'
      throw new IsolaError('plugin_code_unavailable', `${what} bundle ${hash.slice(0, 12)}`)
    },
  }
}
