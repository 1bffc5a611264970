import {
  noGeneration,
  partsDiff,
  toPins,
  type Generation,
  type Part,
  type PartKind,
  type StoredPart,
} from './types/generation.ts'
import type { PartKindEntry, PartKinds } from './types/part-kind.ts'
import { tablesMark } from '#contracts/objects.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { ListedTool } from './types/plugin-catalog.ts'
import type { ReadSearchDocument } from '#contracts/search.ts'

const toolTables = [
  `CREATE TABLE IF NOT EXISTS tools (${tablesMark} name TEXT PRIMARY KEY, owner TEXT NOT NULL, place INTEGER NOT NULL,
    tool TEXT NOT NULL, words TEXT) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS tools_owner ON tools (owner)',
  `CREATE TABLE IF NOT EXISTS needs (${tablesMark} needed TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (needed, owner))
    WITHOUT ROWID`,
]

/** The index of one part, made when it was wired. */
interface IndexedPart {
  readonly id: string
  /** Ids of the parts that it cannot be wired without, whether they are installed or not. */
  readonly needs: readonly string[]
  /** Each tool with its search document. A tool without one is not searched. */
  readonly tools: readonly {
    readonly tool: ListedTool
    readonly words: ReadSearchDocument | undefined
  }[]
  readonly problems: readonly PluginProblem[]
}

const prefixOf = (pattern: string) => (pattern.endsWith('*') ? pattern.slice(0, -1) : pattern)
const fits = (pattern: string) =>
  pattern.endsWith('*') ? 'name >= ?1 AND name < ?1 || char(1114111)' : 'name = ?1'

/** The tools of the stored parts, in tables of their own, as far as they were indexed. */
function createStoredTools(sql: SqlStorage) {
  for (const table of toolTables) sql.exec(table)
  const listed = (query: string, ...values: string[]): readonly ListedTool[] =>
    sql
      .exec<{ readonly tool: string }>(query, ...values)
      .toArray()
      .map(({ tool }) => JSON.parse(tool) as ListedTool)
  let revision = 0
  const hasTools = (id: string) =>
    listed('SELECT tool FROM tools WHERE owner = ? LIMIT 1', id).length > 0
  return {
    /** Counts up when tools are added or removed. */
    revision: () => revision,
    /** Drops the tools of a part. It is indexed again, and so are the parts that were wired with it. */
    forget(id: string): void {
      revision += 1
      sql.exec(
        'UPDATE parts SET indexed = 0 WHERE id = ?1 OR id IN (SELECT owner FROM needs WHERE needed = ?1)',
        id,
      )
      sql.exec('DELETE FROM tools WHERE owner = ?', id)
    },
    /** Ids of parts that are not indexed yet. */
    missing: (): readonly string[] =>
      sql
        .exec<{ readonly id: string }>('SELECT DISTINCT id FROM parts WHERE indexed = 0')
        .toArray()
        .map(({ id }) => id),
    problems: (): readonly PluginProblem[] =>
      sql
        .exec<{ readonly problems: string }>(
          'SELECT DISTINCT problems FROM parts WHERE problems IS NOT NULL',
        )
        .toArray()
        .flatMap(({ problems }) => JSON.parse(problems) as readonly PluginProblem[]),
    put({ id, needs, tools, problems }: IndexedPart): void {
      // A part without a bundle is indexed again and again, and never has tools: no change of the index.
      if (tools.length > 0 || hasTools(id)) revision += 1
      sql.exec('DELETE FROM tools WHERE owner = ?', id)
      sql.exec('DELETE FROM needs WHERE owner = ?', id)
      for (const needed of needs)
        sql.exec('INSERT OR REPLACE INTO needs (needed, owner) VALUES (?, ?)', needed, id)
      for (const [place, { tool, words }] of tools.entries())
        sql.exec(
          'INSERT OR REPLACE INTO tools (name, owner, place, tool, words) VALUES (?, ?, ?, ?, ?)',
          tool.name,
          id,
          place,
          JSON.stringify(tool),
          words ? JSON.stringify(words) : null,
        )
      // A part whose bundle could not be read is indexed again at the next search.
      const isLost = problems.some(({ code }) => code === 'plugin_code_unavailable')
      const told = problems.length > 0 ? JSON.stringify(problems) : null
      sql.exec('UPDATE parts SET indexed = ?, problems = ? WHERE id = ?', isLost ? 0 : 1, told, id)
    },
    /** The search document of each tool, in the order of their owners. Tools without one are left out. */
    searched: (): readonly ReadSearchDocument[] =>
      sql
        .exec<{ readonly words: string }>(
          'SELECT words FROM tools WHERE words IS NOT NULL ORDER BY owner, place',
        )
        .toArray()
        .map(({ words }) => JSON.parse(words) as ReadSearchDocument),
    /** The tools of one name, or of one prefix (`kv__*`). */
    like: (pattern: string) =>
      listed(`SELECT tool FROM tools WHERE ${fits(pattern)}`, prefixOf(pattern)),
    /** The names alone. */
    namesLike: (pattern: string): readonly string[] =>
      sql
        .exec<{ readonly name: string }>(
          `SELECT name FROM tools WHERE ${fits(pattern)}`,
          prefixOf(pattern),
        )
        .toArray()
        .map(({ name }) => name),
  }
}

const numberKey = 'number'
const changingKey = 'changing'

const tables = [
  `CREATE TABLE IF NOT EXISTS parts (${tablesMark} id TEXT NOT NULL, kind TEXT NOT NULL, pin TEXT NOT NULL, always INTEGER NOT NULL,
    indexed INTEGER NOT NULL, problems TEXT, PRIMARY KEY (id, kind)) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS parts_always ON parts (always) WHERE always = 1',
  'CREATE INDEX IF NOT EXISTS parts_indexed ON parts (indexed) WHERE indexed = 0',
  'CREATE INDEX IF NOT EXISTS parts_problems ON parts (id) WHERE problems IS NOT NULL',
]

/**
 * The generation in force in the object's own tables, one row a part: a read by name is one indexed read, and a change
 * writes only changed rows. These tables answer while D1 is away, unless a crash cut a change whose outcome is unknown.
 */
export function createStoredParts({ sql, kv }: DurableObjectStorage, kinds: () => PartKinds) {
  for (const table of tables) sql.exec(table)
  const tools = createStoredTools(sql)
  const toStored = ({ kind, id, pin: text }: PartRow): StoredPart =>
    toStoredPart({ kind, id, pin: JSON.parse(text) as Part['pin'] }, kinds())
  let read = 0
  const rows = (query: string, ...values: (string | number)[]) => {
    const cursor = sql.exec<PartRow>(query, ...values)
    const found = cursor.toArray()
    read += cursor.rowsRead
    return found
  }

  const put = ({ kind, id, pin }: Part): void => {
    const wired = entryOf(kinds(), kind).wire(pin)
    sql.exec(
      'INSERT OR REPLACE INTO parts (id, kind, pin, always, indexed) VALUES (?, ?, ?, ?, ?)',
      id,
      kind,
      JSON.stringify(pin),
      wired === 'always' ? 1 : 0,
      // A part that is never wired has no tools to index.
      wired === 'never' ? 1 : 0,
    )
  }
  const isWired = ({ kind, pin }: Part) => entryOf(kinds(), kind).wire(pin) !== 'never'
  let apart = {}
  /** Has the part, and the parts that were wired with it, indexed again. */
  const touch = (part: Part): void => {
    if (isWired(part)) tools.forget(part.id)
    else apart = {}
  }
  /** Writes the difference between two sets. @returns Rows that were written. */
  const change = (before: Generation, next: Generation): number => {
    const { came, gone } = partsDiff(before.pins, next.pins)
    for (const part of gone) {
      sql.exec('DELETE FROM parts WHERE id = ? AND kind = ?', part.id, part.kind)
      touch(part)
    }
    for (const part of came) {
      put(part)
      touch(part)
    }
    kv.put(numberKey, next.number)
    kv.delete(changingKey)
    return 2 + came.length + gone.length
  }
  const toGeneration = (parts: readonly StoredPart[]): Generation => ({
    number: kv.get<number>(numberKey) ?? noGeneration.number,
    pins: toPins(parts.map(({ kind, id, pin }) => ({ kind, id, pin }))),
  })
  const generation = (): Generation =>
    toGeneration(rows('SELECT kind, id, pin FROM parts').map(toStored))
  const replace = (next: Generation): number => change(generation(), next)
  const named = (ids: readonly string[]): readonly StoredPart[] =>
    ids.flatMap((id) => rows('SELECT kind, id, pin FROM parts WHERE id = ?', id)).map(toStored)
  return {
    /** The whole generation in force: reads every row. */
    generation,
    /** The parts that a change of this id may touch. A kind with one part at most has it under the kind's name. */
    around: (id: string): Generation =>
      toGeneration(named([...new Set([id, ...Object.keys(kinds())])])),
    tools,
    /**
     * Changes when a part that is never wired is added or removed, and with each object. Compare by identity; never
     * stored.
     */
    revision: () => apart,
    /** Rows that were read since the last call. */
    takeRead(): number {
      const count = read
      read = 0
      return count
    },
    /** Stores the whole generation in force. @returns Rows that were written. */
    replace,
    change,
    /** The number of the stored generation; nothing while it is not known how a change ended. */
    number(): number | undefined {
      return kv.get(changingKey) === true ? undefined : kv.get<number>(numberKey)
    },
    /** Marks a change under way: until the next `change` or `replace` the set in force is unknown. */
    begin(): void {
      kv.put(changingKey, true)
    },
    always: () => rows('SELECT kind, id, pin FROM parts WHERE always = 1').map(toStored),
    named,
  }
}

type PartRow = { readonly kind: PartKind; readonly id: string; readonly pin: string }

export type StoredParts = ReturnType<typeof createStoredParts>

/** The entry of a pin's own kind, which alone may look into the pin. */
export const entryOf = (kinds: PartKinds, kind: PartKind): PartKindEntry => kinds[kind]

/** A part with the facts that its kind knows of it. */
export function toStoredPart({ kind, id, pin }: Part, kinds: PartKinds): StoredPart {
  const entry = entryOf(kinds, kind)
  const needs = entry.needs?.(pin) ?? []
  return {
    kind,
    id,
    pin,
    epoch: entry.epoch(pin),
    bodies: entry.sources(pin),
    ...(needs.length > 0 && { needs }),
  }
}
