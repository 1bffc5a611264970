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
import type { PartKinds } from '#contracts/part-kind.ts'
import { entryOf } from './concerns.ts'
import { createKeptTools } from './kept-tools.ts'

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
]

/**
 * The generation in force in the object's own tables, in parts: what is asked for by name is one indexed read, and a
 * change writes what it changes. It answers while D1 is away, unless a change was cut and nobody knows how it ended.
 */
export function createKeptParts({ sql, kv }: DurableObjectStorage, kinds: () => PartKinds) {
  for (const table of tables) sql.exec(table)
  const tools = createKeptTools(sql)
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
  /** @returns Rows that were written. */
  const replace = (next: Generation): number => {
    const { came, gone } = partsDiff(generation().pins, next.pins)
    for (const { kind, id } of gone) {
      sql.exec('DELETE FROM parts WHERE id = ? AND kind = ?', id, kind)
      tools.forget(id)
    }
    for (const part of came) {
      put(part)
      tools.forget(part.id)
    }
    kv.put(numberKey, next.number)
    kv.delete(oneValueKey)
    kv.delete(changingKey)
    held = next
    return 2 + came.length + gone.length
  }
  /** As the tables have it: nothing as long as what a version before kept was not taken over. */
  function generation(): Generation {
    const number = kv.get<number>(numberKey)
    if (number === undefined) return noGeneration
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
    tools,
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
  }
}

type PartRow = { readonly kind: PartKind; readonly id: string; readonly pin: string }

export type KeptParts = ReturnType<typeof createKeptParts>
