import { IsolaError } from '#contracts/errors.ts'
import { tablesVersion } from '#contracts/objects.ts'

/** The classes of Durable Objects, all of which keep something. */
export type ObjectKind = 'Session' | 'Principal' | 'Catalog' | 'PluginService' | 'McpServer'

/**
 * The steps that change the tables of an object, by its class. Tables are made on first use: a step checks whether
 * its table exists.
 */
export type UpgradeStep = {
  readonly [Kind in ObjectKind]?: (storage: Pick<DurableObjectStorage, 'sql' | 'kv'>) => void
}

/** The first leads from version 1 to 2, and so on. A step that was released is never changed. */
const upgradeSteps: readonly UpgradeStep[] = []

/** Names the version of an object that was upgraded: its older tables keep the mark with which they were made. */
const upgradedTo = 'isola_tables_'
const ownTables = `SELECT name, sql FROM sqlite_master WHERE type = 'table'
  AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'cf_agents_*'`

/**
 * Brings an object's tables to the version of this build, all in one transaction, before anything reads them. An object
 * that has none is new. Throws `config_not_migrated` for an object of another build, which it leaves as it is.
 *
 * @param context Of the object, which gets it back.
 * @param to What the tables are to be, where a test says so.
 */
export function withTables(
  kind: ObjectKind,
  context: DurableObjectState,
  to: { readonly version: number; readonly steps: readonly UpgradeStep[] } = {
    version: tablesVersion,
    steps: upgradeSteps,
  },
): DurableObjectState {
  const { storage, id } = context
  const version = readVersion(kind, storage) ?? to.version
  if (version === 0) throw before(kind, id.toString())
  if (version > to.version) throw newer(kind, id.toString())
  const steps = to.steps.slice(version - 1).flatMap((step) => step[kind] ?? [])
  if (steps.length > 0)
    storage.transactionSync(() => {
      for (const step of steps) step(storage)
      storage.sql.exec(`DROP TABLE IF EXISTS ${upgradedTo}${version}`)
      storage.sql.exec(`CREATE TABLE ${upgradedTo}${to.version} (none INTEGER)`)
    })
  return context
}

/**
 * An object whose version cannot be read stays closed: the next caller comes to a new object, which looks again
 * (docs/reliability.md F8).
 */
function readVersion(kind: ObjectKind, storage: DurableObjectStorage): number | undefined {
  try {
    return versionOf(kind, storage)
  } catch (cause) {
    const message = 'What this object keeps cannot be read at the moment. Try again.'
    throw new IsolaError('request_unavailable', message, {
      transient: true,
      retryAfterMs: 5_000,
      cause,
    })
  }
}

/** 0 for tables of before the first release, nothing for an object that keeps nothing. */
function versionOf(
  kind: ObjectKind,
  { sql, kv }: Pick<DurableObjectStorage, 'sql' | 'kv'>,
): number | undefined {
  const tables = [...sql.exec<{ name: string; sql: string }>(ownTables)]
  const upgraded = tables.find(({ name }) => name.startsWith(upgradedTo))
  if (upgraded) return Number(upgraded.name.slice(upgradedTo.length))
  const marked = tables.map(({ sql: text }) =>
    Number(/\/\* isola tables (\d+) \*\//.exec(text)?.[1] ?? 0),
  )
  if (marked.length > 0) return Math.min(...marked)
  // Its class keeps values beside one marked table.
  return kind === 'McpServer' && [...kv.list({ limit: 1 })].length > 0 ? 0 : undefined
}

const before = (kind: ObjectKind, id: string) =>
  refused(
    `The ${kind} object ${id} was made by a build before the first release of Isola, is not read and ` +
      'was not changed: deploy this version under another name (docs/upgrading.md).',
  )
const newer = (kind: ObjectKind, id: string) =>
  refused(
    `The ${kind} object ${id} was written by a newer version of Isola, is not read and was not changed: deploy that ` +
      'version again (docs/upgrading.md).',
  )
const refused = (message: string) => new IsolaError('config_not_migrated', message)
