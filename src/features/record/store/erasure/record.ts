import type { ErasedPerson, ErasurePlace } from '../../types/erasure.ts'
import type { JsonObject } from '#contracts/json.ts'
import type { Database } from '#platform/d1/database.ts'
import { reached } from '#platform/d1/outage.ts'
import { formsOf, renamed } from './renamed.ts'
import { withoutTexts } from './without-texts.ts'

const rowsAtOnce = 500
const writtenAtOnce = 20

interface RecordTable {
  readonly name: 'audit' | 'audit_runs'
  readonly column: 'data' | 'events'
}
interface RecordRow {
  readonly id: number
  readonly principal: string
  /** Empty for a row of several events: each has its own type. */
  readonly type: string
  readonly told: string
}

/**
 * The record: events stay, in their place and with their figures. The person's own events lose their texts, and the
 * name becomes a pseudonym; in the events of others only the name is replaced.
 */
export function createRecordPlaces(database: Database): readonly ErasurePlace[] {
  const read = async <Row>(sql: string, ...values: (string | number)[]) =>
    (
      await reached(() =>
        database
          .prepare(sql)
          .bind(...values)
          .all<Row>(),
      )
    ).results

  return (
    [
      { name: 'audit', column: 'data' },
      { name: 'audit_runs', column: 'events' },
    ] as const satisfies readonly RecordTable[]
  ).map(({ name, column }) => ({
    name,
    async erase(person, after) {
      // In stretches: no statement reads the whole record.
      const [{ last } = { last: null }] = await read<{ last: number | null }>(
        `SELECT max(id) AS last FROM (SELECT id FROM ${name} WHERE id > ?1 ORDER BY id LIMIT ${rowsAtOnce})`,
        after,
      )
      if (last === null) return { erased: 0 }
      const rows = await read<RecordRow>(
        `SELECT id, principal, ${name === 'audit' ? 'type' : `'' AS type`}, ${column} AS told FROM ${name}
          WHERE id > ?1 AND id <= ?2 AND (principal = ?3
            OR EXISTS (SELECT 1 FROM json_each(?4) WHERE instr(${column}, value) > 0))`,
        after,
        last,
        person.principal,
        JSON.stringify(formsOf(person.principal)),
      )
      const changed = rows.flatMap((row) => erasedRow(row, person) ?? [])
      for (let at = 0; at < changed.length; at += writtenAtOnce) {
        const some = changed.slice(at, at + writtenAtOnce).map(({ id, principal, told }) => {
          const sql = `UPDATE ${name} SET (principal, ${column}, erased) = (?2, ?3, coalesce(erased || ' ', '') || ?4) WHERE id = ?1`
          return database.prepare(sql).bind(id, principal, told, person.pseudonym)
        })
        await reached(() => database.batch(some))
      }
      return { erased: changed.length, next: last }
    },
  }))
}

/** The changed row; `undefined` if the name is only a word in it. */
function erasedRow(
  { id, principal, type, told: was }: RecordRow,
  person: ErasedPerson,
): Omit<RecordRow, 'type'> | undefined {
  const isTheirs = principal === person.principal
  const erased = (data: JsonObject, kind: string) => {
    const { owner } = data
    const isAbout = owner === person.principal || owner === `principal:${person.principal}`
    return renamed(isTheirs || isAbout ? withoutTexts(data) : data, kind, person)
  }
  const value = JSON.parse(was) as JsonObject | readonly ToldEvent[]
  const less = isEvents(value)
    ? value.map((event) => ({ ...event, data: erased(event.data, event.type) }))
    : erased(value, type)
  const told = JSON.stringify(less)
  if (!isTheirs && told === JSON.stringify(value)) return undefined
  return { id, principal: isTheirs ? person.pseudonym : principal, told }
}

/** One of the events in a row of a run. */
interface ToldEvent {
  readonly type: string
  readonly data: JsonObject
}
const isEvents = (value: JsonObject | readonly ToldEvent[]): value is readonly ToldEvent[] =>
  Array.isArray(value)
