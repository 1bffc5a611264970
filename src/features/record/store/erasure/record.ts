import type { ErasedPerson, ErasurePlace } from '../../types/operations.ts'
import type { Json, JsonObject } from '#contracts/json.ts'
import { type Database, reached } from '#platform/d1/database.ts'

/** Fields of events whose value is a principal, by name or by its object (`principal:<name>`). */
const people: ReadonlySet<string> = new Set(['owner', 'principal', 'by', 'who'])
/** Kinds of events whose `by` is a way or a grant, not a principal. */
const byNobody: ReadonlySet<string> = new Set(['context_compacted', 'oauth_revoked'])
/** Fields with lines of a policy or of an agent's needs; some lines begin with a principal. */
const lines: ReadonlySet<string> = new Set(['added', 'removed', 'needs'])
const headsOf = (name: string) => [`principal ${name}: `, `share ${name}: `]

/** The JSON texts that show that a person may be named in a row. */
const formsOf = (name: string): readonly string[] =>
  [`${name}"`, `principal:${name}"`, ...headsOf(name)].map((form) => `"${form}`)

/**
 * The payload of an event with the pseudonym in place of the name. A name may also be a common word or the id of a
 * plugin (`weather`), so keys are left alone, and so are values of fields that name no principal.
 */
function renamed(
  data: JsonObject,
  type: string,
  { principal, pseudonym }: ErasedPerson,
): JsonObject {
  const inField = (field: string, value: Json): Json => {
    if (Array.isArray(value)) return value.map((one) => inField(field, one))
    if (typeof value === 'object' && value !== null) return inObject(value as JsonObject)
    if (people.has(field) && !(field === 'by' && byNobody.has(type))) {
      if (value === principal) return pseudonym
      if (value === `principal:${principal}`) return `principal:${pseudonym}`
    }
    if (!lines.has(field) || typeof value !== 'string') return value
    const at = headsOf(principal).findIndex((head) => value.startsWith(head))
    const head = headsOf(principal)[at] ?? ''
    return `${headsOf(pseudonym)[at] ?? ''}${value.slice(head.length)}`
  }
  const inObject = (object: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(object).map(([field, value]) => [field, inField(field, value)]),
    )
  return inObject(data)
}

/**
 * Fields of events whose texts are kept, because they name no person: ids of ours, names of tools, agents and models,
 * codes. Every other text is erased. A test compares the list with the schemas of events.
 */
const keptFields: ReadonlySet<string> = new Set(
  `actions added agent agents allowed answer approval approved argsHash approver asked asker auth begunBy by calls callId call capability
  change client code confirmed confidentiality decidedBy decision definitionHash draft error event finishReason found from grant
  hash hook id integrity isolate key kind label left level lines limit limits listed method model modelCalls models newKey of on onOutcome origin owner parent parentCall passedOver pauses platform plugin policy principal provenance provider
  reason regained regainedServers regainedSkills removed request requestedModel resource role rule run runs sampling schedule scope
  scopes secret server session sinks skill skills slot source stage state stayed step step taint template text tier tool
  unexposed unpinned usage verdict version via withheld`.split(/\s+/),
)
/** An id, a name or a code: no sentence. */
const isWord = /^[\w.:/*@+-]{0,120}$/
const gone = '[erased]'

/** The payload of an event without its texts. Numbers and flags stay. */
export function withoutTexts(data: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(data).map(([field, value]) => [
      field,
      keptFields.has(field) ? kept(value) : emptied(value),
    ]),
  )
}

function kept(value: Json): Json {
  if (typeof value === 'string') return isWord.test(value) ? value : gone
  if (Array.isArray(value)) return value.map(kept)
  return typeof value === 'object' && value !== null ? withoutTexts(value as JsonObject) : value
}

/** An empty value of the same kind. */
function emptied(value: Json): Json {
  if (typeof value === 'string') return value === '' ? '' : gone
  if (Array.isArray(value)) return []
  return typeof value === 'object' && value !== null ? {} : value
}

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
          const sql =
            `UPDATE ${name} SET (principal, ${column}, erased) = (?2, ?3, coalesce(erased || ' ', '') || ` +
            '?4) WHERE id = ?1'
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
