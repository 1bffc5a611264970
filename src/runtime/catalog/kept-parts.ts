import {
  noGeneration,
  partsDiff,
  toPins,
  type Generation,
  type Part,
  type PartKind,
  type StoredPart,
} from './types/generation.ts'
import type { PartKinds } from './types/part-kind.ts'
import { tablesMark } from '#contracts/object-tables.ts'
import { entryOf, toStoredPart } from './concerns.ts'
import { createKeptTools } from './kept-tools.ts'

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
 * The generation in force in the object's own tables, in parts: what is asked for by name is one indexed read, and a
 * change writes what it changes. It answers while D1 is away, unless a change was cut and nobody knows how it ended.
 */
export function createKeptParts({ sql, kv }: DurableObjectStorage, kinds: () => PartKinds) {
  for (const table of tables) sql.exec(table)
  const tools = createKeptTools(sql)
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
      // What is never wired has no tools to find out.
      wired === 'never' ? 1 : 0,
    )
  }
  const isWired = ({ kind, pin }: Part) => entryOf(kinds(), kind).wire(pin) !== 'never'
  let apart = {}
  /** What was wired with it is wired anew. */
  const touch = (part: Part): void => {
    if (isWired(part)) tools.forget(part.id)
    else apart = {}
  }
  /** From a set to the next one; of what is in neither nothing changes. @returns Rows that were written. */
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
    /** All of it, which reads as much as is in force. */
    generation,
    /** What of it a change of this one may touch: a kind of which there is one at most has it under its own name. */
    around: (id: string): Generation =>
      toGeneration(named([...new Set([id, ...Object.keys(kinds())])])),
    tools,
    /** Another one each time that something came or went which is never wired, and in each object: one may end where another begins. */
    revision: () => apart,
    /** Rows that were read since this was asked last. */
    takeRead(): number {
      const count = read
      read = 0
      return count
    },
    /** Takes over all that is in force now. @returns Rows that were written. */
    replace,
    change,
    /** Of what is kept; nothing if nobody knows any more what is in force. */
    number(): number | undefined {
      return kv.get(changingKey) === true ? undefined : kv.get<number>(numberKey)
    },
    /** From now on it is not known what is in force, until it is replaced. */
    begin(): void {
      kv.put(changingKey, true)
    },
    always: () => rows('SELECT kind, id, pin FROM parts WHERE always = 1').map(toStored),
    named,
  }
}

type PartRow = { readonly kind: PartKind; readonly id: string; readonly pin: string }

export type KeptParts = ReturnType<typeof createKeptParts>
