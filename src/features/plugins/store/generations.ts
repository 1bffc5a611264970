import type { Exposure } from '#runtime/catalog/types/exposure.ts'
import {
  partsDiff,
  partsOf,
  pinsOfOneValue,
  toPins,
  type Generation,
  type Part,
  type PartKind,
  type PinOfKind,
  type Pins,
  type PluginPin,
} from '#runtime/catalog/types/generation.ts'
import type { GenerationView } from '#runtime/catalog/types/plugin-catalog.ts'
import type { PluginStore } from '#runtime/catalog/types/plugin-store.ts'
import { completePolicy, type StoredPolicy } from '#runtime/kernel/types/tool-policy.ts'
import type { Database, Statement } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/outage.ts'

/** A bound text of D1 has 2 MB at most, and a character may be three bytes. */
const chunkChars = 500_000
/** So many plugins are named in one list of generations; the first is told whole. */
const maxListed = 10_000
/** So far back a version before the one that is there is looked for among generations that are one value. */
const maxOldGenerations = 200

/** With the policy and the choice of what is offered that were in force in a generation which is one value. */
const generationRow = `
  SELECT number, plugins, (SELECT policy FROM policies WHERE generation <= number
    ORDER BY generation DESC LIMIT 1) AS policy, (SELECT exposure FROM exposures WHERE generation <= number
    ORDER BY generation DESC LIMIT 1) AS exposure FROM generations`
const openParts = 'SELECT kind, id, pin FROM generation_parts WHERE until IS NULL'
const partsThen = `
  SELECT kind, id, pin FROM generation_parts WHERE since <= ?1 AND (until IS NULL OR until > ?1)`

type Stored = Pick<
  PluginStore,
  'generation' | 'generations' | 'newestNumber' | 'newest' | 'earlier'
>

/** The numbered sets of what was in force, each put together from its parts. */
export function createGenerations(database: Database): Stored {
  const all = async <Row>(sql: string, ...values: readonly (string | number)[]) => {
    const query = () =>
      database
        .prepare(sql)
        .bind(...values)
        .all<Row>()
    return (await reached(query)).results
  }
  /** In one transaction: no change comes between them. */
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
      const sql = `SELECT number, plugins, reason, made_by, made_at_ms FROM generations
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
      const sql = `SELECT pin FROM (
          SELECT pin, since AS number FROM generation_parts WHERE kind = 'plugin' AND id = ?1
            AND pin->>'hash' <> ?2 AND (until IS NULL OR until - 1 > ?3)
          UNION ALL SELECT pins.value, number FROM generations, json_each(generations.plugins, '$.installed') AS pins
            WHERE number > ?3 AND number > (SELECT MAX(number) FROM generations) - ${maxOldGenerations}
              AND pins.value->>'id' = ?1 AND pins.value->>'hash' <> ?2)
        ORDER BY number DESC LIMIT 1`
      const [row] = await all<{ readonly pin: string }>(sql, id, hash, after)
      return row && (JSON.parse(row.pin) as PluginPin)
    },
  }
}

/** What writes a generation, to land in one go with the rest of a change: the parts that it changes, and its own row. */
export function generationRows(
  database: Database,
  generation: Written & { readonly reason: string },
  by: { readonly principal: string; readonly atMs: number },
): readonly Statement[] {
  const { number, reason } = generation
  const insert = database.prepare(
    `INSERT INTO generations (number, plugins, reason, made_by, made_at_ms) VALUES (?1, '{}', ?2, ?3, ?4)`,
  )
  return [...partRows(database, generation), insert.bind(number, reason, by.principal, by.atMs)]
}

type Written = Generation & { readonly before: Generation; readonly isAnew?: boolean }

function partRows(
  database: Database,
  { number, pins, before, isAnew = false }: Written,
): readonly Statement[] {
  const open = database.prepare(
    `INSERT INTO generation_parts (kind, id, since, until, pin)
      SELECT value->>'kind', value->>'id', ?2, NULL, value->'pin' FROM json_each(?1)`,
  )
  const opened = (parts: readonly Part[]) =>
    inChunks(parts).map((chunk) => open.bind(JSON.stringify(chunk), number))
  if (isAnew) {
    // The generation before is of an earlier version: none of its parts is there, or they are of one before it.
    const close = database.prepare('UPDATE generation_parts SET until = ?1 WHERE until IS NULL')
    return [close.bind(number), ...opened(partsOf({ pins }))]
  }
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
  readonly plugins: string
  readonly policy: string | null
  readonly exposure: string | null
}

interface VersionRow {
  readonly id: string
  readonly since: number
  readonly until: number | null
  readonly version: string
}

interface ListedRow {
  readonly number: number
  readonly plugins: string
  readonly reason: string
  readonly made_by: string
  readonly made_at_ms: number
}

function toGeneration(row: GenerationRow, parts: readonly PartRow[]): Generation {
  const { number } = row
  if (isOld(row)) return { number, pins: oldPins(row) }
  const found = parts.map(({ pin, ...part }): Part => ({
    ...part,
    pin: JSON.parse(pin) as Part['pin'],
  }))
  return { number, pins: toPins(found.map(withWholePolicy)) }
}

/** A policy that was stored before says nothing of what came since: there it is as shipped. */
const withWholePolicy = (part: Part): Part => {
  if (part.kind !== 'policy') return part
  const { policy } = part.pin as PinOfKind['policy']
  return { ...part, pin: { id: 'policy', policy: completePolicy(policy) } }
}

const isOld = ({ plugins }: Pick<GenerationRow, 'plugins'>): boolean => plugins !== '{}'

/** The pins of a generation that an earlier version stored as one value. */
const oldPins = ({ plugins, policy, exposure }: GenerationRow): Pins =>
  pinsOfOneValue({
    ...(JSON.parse(plugins) as Parameters<typeof pinsOfOneValue>[0]),
    ...(policy !== null && { policy: JSON.parse(policy) as StoredPolicy }),
    ...(exposure !== null && { exposed: JSON.parse(exposure) as Exposure }),
  })

function toView(row: ListedRow, versions: readonly VersionRow[]): GenerationView {
  const { number, reason, made_by: madeBy, made_at_ms: madeAtMs } = row
  const plugins = isOld(row)
    ? (JSON.parse(row.plugins) as { readonly installed: readonly PluginPin[] }).installed
    : versions.filter(({ since, until }) => since <= number && (until === null || until > number))
  return {
    number,
    reason,
    madeBy,
    madeAtMs,
    plugins: plugins.map(({ id, version }) => ({ id, version })),
  }
}
