import type { ErasedPerson, ErasurePlace } from '../../types/operations.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import type { ScheduleKeeper } from '#contracts/schedule-requests.ts'
import { keeper } from '#features/schedules/store/schedules.ts'

/** The sessions of a person, roots first: deleting a root deletes its session tree. */
interface SessionRows {
  readonly of: (principal: string, limit: number) => Promise<readonly string[]>
  /** Removes the row of a session that no longer exists. */
  readonly remove: (id: string) => Promise<void>
}

export function createSessionRows(database: Database): SessionRows {
  const read = async (principal: string, kind: string, limit: number) => {
    const sql = `SELECT id FROM sessions WHERE principal = ?1 AND kind ${kind} LIMIT ?2`
    const statement = database.prepare(sql).bind(principal, limit)
    return (await reached(() => statement.all<{ id: string }>())).results.map(({ id }) => id)
  }
  return {
    async of(principal, limit) {
      const roots = await read(principal, `<> 'child'`, limit)
      return roots.length > 0 ? roots : read(principal, `= 'child'`, limit)
    },
    remove: async (id) =>
      void (await reached(() =>
        database.prepare('DELETE FROM sessions WHERE id = ?1').bind(id).run(),
      )),
  }
}

/** Pages of data that others have and that may name a person. */
export const createOthersRows = (database: Database) => ({
  /** The owners of objects that keep subscriptions. */
  async subscribers(after: number, limit: number): Promise<readonly ScheduleKeeper[]> {
    const sql = `SELECT DISTINCT ${keeper} FROM schedules WHERE event IS NOT NULL ORDER BY 1 LIMIT ?2 OFFSET ?1`
    const statement = database.prepare(sql).bind(after, limit)
    const { results } = await reached(() => statement.all<{ owner: ScheduleKeeper }>())
    return results.map(({ owner }) => owner)
  },
  /**
   * Sessions of others, of sub-agents too, in which an agent of the person works; after the agent was renamed, by the
   * pseudonym.
   */
  async strangeSessions(
    { principal, pseudonym }: ErasedPerson,
    after: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly principal: string }[]> {
    const sql = `SELECT id, principal FROM sessions WHERE agent IN (SELECT id FROM agents WHERE owner IN (?1, ?2))
      AND principal <> ?1 ORDER BY id LIMIT ?4 OFFSET ?3`
    const statement = database.prepare(sql).bind(principal, pseudonym, after, limit)
    return (await reached(() => statement.all<{ id: string; principal: string }>())).results
  },
})

/** How an erasure treats a table of D1. A test compares the list with the tables that exist. */
interface ErasedTable {
  /** Rows with the person in this column are deleted. */
  readonly rows?: string
  /** Rows for which this condition holds are deleted; the person is `?1`. */
  readonly where?: string
  /** Columns in which the pseudonym replaces the person, where it is the whole value. */
  readonly names?: readonly string[]
  /** SQL that changes the other columns of a renamed row. */
  readonly set?: string
  /**
   * JSON columns, with the path at which the person is the value. Elsewhere the same name may be a tool or a plugin.
   */
  readonly values?: Readonly<Record<string, string>>
  /** JSON columns, with the path of an object that may have the person among its keys. */
  readonly keys?: Readonly<Record<string, string>>
  /** JSON columns, with the field whose lines may begin with the person (`ann: run`). */
  readonly lines?: Readonly<Record<string, string>>
  /** Why this module leaves the table alone. */
  readonly not?: string
}

const record = 'what happened stays, without who: record.ts'

/** Every table of D1. A table that others refer to comes after them. */
export const erasedTables: Readonly<Record<string, ErasedTable>> = {
  keys: { rows: 'principal' },
  oauth_grants: { rows: 'principal' },
  approvals: { rows: 'principal', values: { decided_by: '$.principal' } },
  approval_rules: { rows: 'principal', values: { decided_by: '$.principal' } },
  given_up_runs: { rows: 'principal' },
  schedules: { rows: 'principal' },
  skill_draft_writings: { rows: 'principal' },
  skill_drafts: { rows: 'principal', names: ['promoted_by'] },
  memory_owners: { rows: 'principal' },
  principals: { rows: 'id' },
  // The person's agents are deleted, and their ids stay taken. In agents of others, an entry for the person allows no
  // principal any more.
  agent_versions: {
    where: 'agent IN (SELECT id FROM agents WHERE owner = ?1)',
    names: ['approved_by'],
    values: { body: '$.createdBy' },
    keys: { body: '$.definition.acl.principals' },
    lines: { body: 'what' },
  },
  agents: {
    names: ['owner'],
    set: `state = 'deleted', version = 0, newest = 0, head = NULL, behind = 0`,
    keys: { head: '$.acl.principals' },
  },
  // Extensions and decisions that the person made for all principals stay.
  plugin_versions: { names: ['installed_by'] },
  skill_versions: { names: ['installed_by'] },
  manifests: { names: ['owner'] },
  skills: { names: ['owner'] },
  plugin_usage: { names: ['principal'] },
  generations: { names: ['made_by'] },
  generation_parts: { keys: { pin: '$.policy.principals' } },
  secrets: { names: ['set_by'] },
  trusted_keys: { names: ['added_by'] },
  mcp_servers: { names: ['added_by'] },
  erasures: { names: ['asked_by'] },
  sessions: { not: 'each takes its own row with it: sessions.ts' },
  audit: { not: record },
  audit_runs: { not: record },
  plugin_bundles: { not: 'what was uploaded for everybody, under its hash' },
  d1_migrations: { not: 'names of files' },
}

/** A place for each table of D1 that can name a person. */
export function createTablePlaces(database: Database): readonly ErasurePlace[] {
  const count = async (statement: Statement) =>
    (await reached(() => statement.all<object>())).results.length
  return Object.entries(erasedTables).flatMap(([table, what]) =>
    what.not !== undefined
      ? []
      : {
          name: table,
          async erase(person) {
            let erased = 0
            for (const [sql, ...values] of changesOf(table, what, person))
              erased += await count(database.prepare(sql).bind(...values))
            return { erased }
          },
        },
  )
}

/** The table's statements, each with its values. */
function changesOf(
  table: string,
  { rows, where, names = [], set, values = {}, keys = {}, lines = {} }: ErasedTable,
  { principal, pseudonym }: ErasedPerson,
): readonly (readonly [string, ...string[]])[] {
  const change = (column: string, to: string, having: string) =>
    `UPDATE ${table} SET ${column} = ${to} WHERE ${having} RETURNING 1`
  const renamed = set === undefined ? '?2' : `?2, ${set}`
  const gone = where ?? (rows === undefined ? undefined : `${rows} = ?1`)
  const both = [principal, pseudonym] as const
  return [
    ...(gone === undefined
      ? []
      : [[`DELETE FROM ${table} WHERE ${gone} RETURNING 1`, principal] as const]),
    ...names.map((name) => [change(name, renamed, `${name} = ?1`), ...both] as const),
    ...Object.entries(values).map(([name, path]) => {
      const sql = change(name, `json_set(${name}, '${path}', ?2)`, `${name} ->> '${path}' = ?1`)
      return [sql, ...both] as const
    }),
    ...Object.entries(keys).map(([name, path]) => {
      const to = `json_set(json_remove(${name}, ?1), ?2, json(${name} -> ?1))`
      const sql = change(name, to, `json_type(${name}, ?1) IS NOT NULL`)
      return [sql, `${path}."${principal}"`, `${path}."${pseudonym}"`] as const
    }),
    ...Object.entries(lines).map(([name, field]) => {
      // JSON escapes quotes inside a text, so this matches a field and never a quoted text.
      const [head, instead] = both.map((one) => `"${field}":"${one}: `)
      const sql = change(name, `replace(${name}, ?1, ?2)`, `instr(${name}, ?1) > 0`)
      return [sql, head!, instead!] as const
    }),
  ]
}
