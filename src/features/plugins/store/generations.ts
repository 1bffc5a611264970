import {
  partsDiff,
  toPins,
  type Generation,
  type Part,
  type PartKind,
  type PluginPin,
} from '#runtime/catalog/types/generation.ts'
import type { GenerationView, PluginStore } from '#runtime/catalog/types/plugin-catalog.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import { readerOf } from './plugin-rows.ts'

/** A bound text of D1 has 2 MB at most, and a character may be three bytes. */
const chunkChars = 500_000
/** How many plugins a list of generations names in total; the first generation is always listed whole. */
const maxListed = 10_000

const generationRow = 'SELECT number FROM generations'
const openParts = 'SELECT kind, id, pin FROM generation_parts WHERE until IS NULL'
const partsThen = `
  SELECT kind, id, pin FROM generation_parts WHERE since <= ?1 AND (until IS NULL OR until > ?1)`

type Stored = Pick<
  PluginStore,
  'generation' | 'generations' | 'newestNumber' | 'newest' | 'earlier'
>

/** The numbered generations, each assembled from its extensions. */
export function createGenerations(database: Database): Stored {
  const all = readerOf(database)
  /** In one transaction, so that no change comes between them. */
  const both = async (statements: Statement[]) => {
    const [found, parts] = await reached(() => database.batch(statements))
    const row = found?.results[0] as GenerationRow | undefined
    return row && toGeneration(row, (parts?.results ?? []) as unknown as readonly PartRow[])
  }
  return {
    generation: (number) =>
      number === undefined
        ? both([
            database.prepare(`${generationRow} ORDER BY number DESC LIMIT 1`),
            database.prepare(openParts),
          ])
        : both([
            database.prepare(`${generationRow} WHERE number = ?1`).bind(number),
            database.prepare(partsThen).bind(number),
          ]),
    async newestNumber() {
      const sql = 'SELECT number FROM generations ORDER BY number DESC LIMIT 1'
      return (await all<{ readonly number: number }>(sql))[0]?.number ?? 0
    },
    async generations(limit) {
      const sql = `SELECT number, reason, made_by, made_at_ms FROM generations
        ORDER BY number DESC LIMIT ?1`
      const rows = await all<ListedRow>(sql, limit)
      const versions = await all<VersionRow>(
        `SELECT id, since, until, pin->>'version' AS version FROM generation_parts
          WHERE kind = 'plugin' AND (until IS NULL OR until > ?1) ORDER BY id`,
        rows.at(-1)?.number ?? 0,
      )
      const views: GenerationView[] = []
      let left = maxListed
      for (const row of rows) {
        const view = toView(row, versions)
        left -= view.plugins.length
        if (left < 0 && views.length > 0) break
        views.push(view)
      }
      return views
    },
    async newest(kinds) {
      const sql = `SELECT reason, MAX(number) AS number FROM generations
        WHERE substr(reason, 1, instr(reason || ' ', ' ') - 1) IN (SELECT value FROM json_each(?1)) GROUP BY reason`
      const found = await all<{ reason: string; number: number }>(sql, JSON.stringify(kinds))
      return new Map(found.map(({ reason, number }) => [reason, number]))
    },
    async earlier({ id, hash, after }) {
      const sql = `SELECT pin FROM generation_parts WHERE kind = 'plugin' AND id = ?1
        AND pin->>'hash' <> ?2 AND (until IS NULL OR until - 1 > ?3) ORDER BY since DESC LIMIT 1`
      const [row] = await all<{ readonly pin: string }>(sql, id, hash, after)
      return row && (JSON.parse(row.pin) as PluginPin)
    },
  }
}

/**
 * The statements that write a generation, to be committed with the rest of a change: its changed extensions, and its
 * own row.
 */
export function generationRows(
  database: Database,
  generation: Written & { readonly reason: string },
  by: { readonly principal: string; readonly atMs: number },
): readonly Statement[] {
  const { number, reason } = generation
  const insert = database.prepare(
    `INSERT INTO generations (number, reason, made_by, made_at_ms) VALUES (?1, ?2, ?3, ?4)`,
  )
  return [...partRows(database, generation), insert.bind(number, reason, by.principal, by.atMs)]
}

type Written = Generation & { readonly before: Generation }

function partRows(database: Database, { number, pins, before }: Written): readonly Statement[] {
  const open = database.prepare(
    `INSERT INTO generation_parts (kind, id, since, until, pin)
      SELECT value->>'kind', value->>'id', ?2, NULL, value->'pin' FROM json_each(?1)`,
  )
  const opened = (parts: readonly Part[]) =>
    inChunks(parts).map((chunk) => open.bind(JSON.stringify(chunk), number))
  const { came, gone } = partsDiff(before.pins, pins)
  const ended = [...came, ...gone].map(({ kind, id }) => ({ kind, id }))
  const close = database.prepare(
    `UPDATE generation_parts SET until = ?2 WHERE until IS NULL
      AND (kind, id) IN (SELECT value->>'kind', value->>'id' FROM json_each(?1))`,
  )
  return [
    ...inChunks(ended).map((chunk) => close.bind(JSON.stringify(chunk), number)),
    ...opened(came),
  ]
}

function inChunks<T>(values: readonly T[]): readonly (readonly T[])[] {
  const chunks: T[][] = []
  let chars = chunkChars
  for (const value of values) {
    const length = JSON.stringify(value).length
    if (chars + length > chunkChars) {
      chunks.push([])
      chars = 0
    }
    chunks.at(-1)!.push(value)
    chars += length
  }
  return chunks
}

interface PartRow {
  readonly kind: PartKind
  readonly id: string
  readonly pin: string
}

interface GenerationRow {
  readonly number: number
}

interface VersionRow {
  readonly id: string
  readonly since: number
  readonly until: number | null
  readonly version: string
}

interface ListedRow {
  readonly number: number
  readonly reason: string
  readonly made_by: string
  readonly made_at_ms: number
}

const toGeneration = ({ number }: GenerationRow, parts: readonly PartRow[]): Generation => ({
  number,
  pins: toPins(parts.map(({ pin, ...part }) => ({ ...part, pin: JSON.parse(pin) as Part['pin'] }))),
})

function toView(row: ListedRow, versions: readonly VersionRow[]): GenerationView {
  const { number, reason, made_by: madeBy, made_at_ms: madeAtMs } = row
  const plugins = versions.filter(
    ({ since, until }) => since <= number && (until === null || until > number),
  )
  return {
    number,
    reason,
    madeBy,
    madeAtMs,
    plugins: plugins.map(({ id, version }) => ({ id, version })),
  }
}
