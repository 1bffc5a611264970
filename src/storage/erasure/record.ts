import type { ErasedPerson, ErasurePlace } from '#contracts/erasure.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import type { Database } from '../database.ts'
import { reached } from '../outage.ts'
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
  readonly told: string
}

/**
 * The record: what happened stays, in its place and with its numbers. What a person did loses its texts and has a
 * pseudonym for a name; where others are told to have done something about the person, the name alone is replaced.
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
        `SELECT id, principal, ${column} AS told FROM ${name}
          WHERE id > ?1 AND id <= ?2 AND (principal = ?3 OR instr(${column}, ?4) > 0 OR instr(${column}, ?5) > 0
            OR instr(${column}, ?6) > 0)`,
        after,
        last,
        person.principal,
        ...namesOf(person.principal),
      )
      for (let at = 0; at < rows.length; at += writtenAtOnce) {
        const some = rows.slice(at, at + writtenAtOnce).map((row) => {
          const { principal, told } = erasedRow(row, person)
          const sql = `UPDATE ${name} SET (principal, ${column}, erased) = (?2, ?3, coalesce(erased || ' ', '') || ?4) WHERE id = ?1`
          return database.prepare(sql).bind(row.id, principal, told, person.pseudonym)
        })
        await reached(() => database.batch(some))
      }
      return { erased: rows.length, next: last }
    },
  }))
}

function erasedRow(
  { principal, told }: RecordRow,
  person: ErasedPerson,
): { readonly principal: string; readonly told: string } {
  const isTheirs = principal === person.principal
  const value = JSON.parse(told) as Json
  const names = namesOf(person.principal)
  const isAbout = names.includes(JSON.stringify(ownerOf(value) ?? ''))
  const less = JSON.stringify(isTheirs || isAbout ? cut(value) : value)
  const instead = namesOf(person.pseudonym)
  const named = names.reduce((text, name, at) => text.replaceAll(name, instead[at]!), less)
  return { principal: isTheirs ? person.pseudonym : principal, told: named }
}

/** As JSON has it: by itself, as the owner of a schedule, and where it is said with whom an agent is shared. */
const namesOf = (principal: string): readonly [string, string, string] => [
  JSON.stringify(principal),
  JSON.stringify(`principal:${principal}`),
  `"share ${principal}: `,
]

/** Of the deployment's own events: whom they are about. */
const ownerOf = (value: Json): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)['owner']
    : undefined

/** A row is the payload of one event, or the events of a run. */
function cut(value: Json): Json {
  if (!Array.isArray(value)) return withoutTexts(value as JsonObject)
  return value.map((event) => {
    const { data, ...place } = event as JsonObject
    return { ...place, data: withoutTexts(data as JsonObject) }
  })
}
