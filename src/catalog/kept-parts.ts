import {
  noGeneration,
  partsDiff,
  pinsOfOneValue,
  toPins,
  type Generation,
  type Part,
  type PartKind,
  type StoredPart,
} from '#contracts/generation.ts'
import type { PluginProblem } from '#contracts/operations.ts'
import type { PartKinds } from '#contracts/part-kind.ts'
import type { ListedTool } from '#contracts/runtime.ts'
import { entryOf } from './concerns.ts'

const numberKey = 'number'
const changingKey = 'changing'
/** Where a version before kept the whole generation, as one value. */
const oneValueKey = 'generation'

const tables = [
  `CREATE TABLE IF NOT EXISTS parts (id TEXT NOT NULL, kind TEXT NOT NULL, pin TEXT NOT NULL, always INTEGER NOT NULL,
    indexed INTEGER NOT NULL, problems TEXT, PRIMARY KEY (id, kind)) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS parts_always ON parts (always) WHERE always = 1',
  'CREATE INDEX IF NOT EXISTS parts_indexed ON parts (indexed) WHERE indexed = 0',
  'CREATE INDEX IF NOT EXISTS parts_problems ON parts (id) WHERE problems IS NOT NULL',
  `CREATE TABLE IF NOT EXISTS tools (name TEXT PRIMARY KEY, owner TEXT NOT NULL, place INTEGER NOT NULL,
    tool TEXT NOT NULL) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS tools_owner ON tools (owner)',
  'CREATE TABLE IF NOT EXISTS needs (needed TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (needed, owner)) WITHOUT ROWID',
]

/** What was found out of one part when it was wired. */
export interface IndexedPart {
  readonly id: string
  /** Ids of the parts that it is wired with. */
  readonly needs: readonly string[]
  /** Those of which an agent may be told that does not name them. */
  readonly tools: readonly ListedTool[]
  readonly problems: readonly PluginProblem[]
}

/**
 * The generation in force in the object's own tables, in parts: what is asked for by name is one indexed read, and a
 * change writes what it changes. It answers while D1 is away, unless a change was cut and nobody knows how it ended.
 */
export function createKeptParts({ sql, kv }: DurableObjectStorage, kinds: () => PartKinds) {
  for (const table of tables) sql.exec(table)
  let held: Generation | undefined
  const toStored = ({ kind, id, pin: text }: PartRow): StoredPart => {
    const pin = JSON.parse(text) as Part['pin']
    const entry = entryOf(kinds(), kind)
    return { kind, id, pin, epoch: entry.epoch(pin), bodies: entry.sources(pin) }
  }
  let read = 0
  const rows = (query: string, ...values: (string | number)[]) => {
    const cursor = sql.exec<PartRow>(query, ...values)
    const found = cursor.toArray()
    read += cursor.rowsRead
    return found
  }

  const put = ({ kind, id, pin }: Part): void => {
    const always = entryOf(kinds(), kind).wire(pin) === 'always' ? 1 : 0
    sql.exec(
      'INSERT OR REPLACE INTO parts (id, kind, pin, always, indexed) VALUES (?, ?, ?, ?, 0)',
      id,
      kind,
      JSON.stringify(pin),
      always,
    )
  }
  /** It is wired anew, and so is what was wired with it. */
  const unindex = (id: string): void => {
    sql.exec(
      `UPDATE parts SET indexed = 0 WHERE id = ?1 OR id IN (SELECT owner FROM needs WHERE needed = ?1)`,
      id,
    )
    sql.exec('DELETE FROM tools WHERE owner = ?', id)
  }
  /** @returns Rows that were written. */
  const replace = (next: Generation): number => {
    const { came, gone } = partsDiff(generation().pins, next.pins)
    for (const { kind, id } of gone) {
      sql.exec('DELETE FROM parts WHERE id = ? AND kind = ?', id, kind)
      unindex(id)
    }
    for (const part of came) {
      put(part)
      unindex(part.id)
    }
    kv.put(numberKey, next.number)
    kv.delete(changingKey)
    held = next
    return 2 + came.length + gone.length
  }
  function generation(): Generation {
    const number = kv.get<number>(numberKey)
    if (number === undefined) return fromOneValue() ?? noGeneration
    const parts = () => rows('SELECT kind, id, pin FROM parts').map(toStored)
    return (held ??= {
      number,
      pins: toPins(parts().map(({ kind, id, pin }) => ({ kind, id, pin }))),
    })
  }
  function fromOneValue(): Generation | undefined {
    const text = kv.get<string>(oneValueKey)
    if (text === undefined) return undefined
    const value = JSON.parse(text) as Parameters<typeof pinsOfOneValue>[0] & { number: number }
    return { number: value.number, pins: pinsOfOneValue(value) }
  }
  return {
    generation,
    /** Rows that were read since this was asked last. */
    takeRead(): number {
      const count = read
      read = 0
      return count
    },
    /** Takes over what is in force now. */
    replace,
    /** Of what is kept; nothing if nobody knows any more what is in force. */
    number(): number | undefined {
      if (kv.get(changingKey) === true) return undefined
      if (kv.get(numberKey) === undefined) {
        const before = fromOneValue()
        if (!before) return undefined
        replace(before)
        kv.delete(oneValueKey)
      }
      return kv.get<number>(numberKey)
    },
    /** From now on it is not known what is in force, until it is replaced. */
    begin(): void {
      kv.put(changingKey, true)
    },
    always: () => rows('SELECT kind, id, pin FROM parts WHERE always = 1').map(toStored),
    named: (ids: readonly string[]) =>
      ids.flatMap((id) => rows('SELECT kind, id, pin FROM parts WHERE id = ?', id)).map(toStored),
    /** Ids of parts whose tools are not known yet. */
    unindexed: (): readonly string[] =>
      rows('SELECT DISTINCT id FROM parts WHERE indexed = 0').map(({ id }) => id),
    problems: (): readonly PluginProblem[] =>
      sql
        .exec<{ readonly problems: string }>(
          'SELECT problems FROM parts WHERE problems IS NOT NULL',
        )
        .toArray()
        .flatMap(({ problems }) => JSON.parse(problems) as readonly PluginProblem[]),
    index({ id, needs, tools, problems }: IndexedPart): void {
      sql.exec('DELETE FROM tools WHERE owner = ?', id)
      sql.exec('DELETE FROM needs WHERE owner = ?', id)
      for (const needed of needs)
        sql.exec('INSERT OR REPLACE INTO needs (needed, owner) VALUES (?, ?)', needed, id)
      for (const [place, tool] of tools.entries())
        sql.exec(
          'INSERT OR REPLACE INTO tools (name, owner, place, tool) VALUES (?, ?, ?, ?)',
          tool.name,
          id,
          place,
          JSON.stringify(tool),
        )
      // One whose bundle could not be read is looked at again: it may be there by then.
      const isLost = problems.some(({ code }) => code === 'plugin_code_unavailable')
      const told = problems.length > 0 ? JSON.stringify(problems) : null
      sql.exec('UPDATE parts SET indexed = ?, problems = ? WHERE id = ?', isLost ? 0 : 1, told, id)
    },
    /** In the order of their owners. */
    tools: () =>
      sql.exec<ToolRow>('SELECT tool FROM tools ORDER BY owner, place').toArray().map(toListed),
    toolsLike: (pattern: string) =>
      (pattern.endsWith('*')
        ? sql.exec<ToolRow>(
            'SELECT tool FROM tools WHERE name >= ?1 AND name < ?1 || char(1114111)',
            pattern.slice(0, -1),
          )
        : sql.exec<ToolRow>('SELECT tool FROM tools WHERE name = ?', pattern)
      )
        .toArray()
        .map(toListed),
  }
}

type PartRow = { readonly kind: PartKind; readonly id: string; readonly pin: string }
type ToolRow = { readonly tool: string }

const toListed = ({ tool }: ToolRow): ListedTool => JSON.parse(tool) as ListedTool

export type KeptParts = ReturnType<typeof createKeptParts>
