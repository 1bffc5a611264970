import type { DeploymentEvent } from '#contracts/event.ts'
import {
  toScheduled,
  type AgentHead,
  type AgentVersion,
} from '#runtime/session/types/agent-schedules.ts'
import type { Role } from '#contracts/keys.ts'
import type { ScheduleIndex } from '#runtime/session/types/schedule-object.ts'
import type { AgentSeer, AgentStore, ListedAgent, SeenAgent } from '../types.ts'
import { type Database, type Statement, reached } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'

/** So many of the last versions are kept, and the one in force. */
const keptVersions = 50

const isHeld = `(owner = 'operator' OR EXISTS (SELECT 1 FROM keys WHERE principal = owner AND revoked_at_ms IS NULL
      AND (expires_at_ms IS NULL OR expires_at_ms > ?2)))`

const ownerModels = '(SELECT models FROM principals WHERE principals.id = owner)'

/**
 * An agent with its version in force, the role of the caller, and whether its owner still has a key and which models:
 * one look.
 */
const select = `
  SELECT id, owner, state, newest, created_at_ms, behind, body, approved_by, approved_at_ms,
    (SELECT role FROM principals WHERE principals.id = ?1) AS role,
    ${isHeld} AS is_held, ${ownerModels} AS owner_models
  FROM agents LEFT JOIN agent_versions ON agent = id AND agent_versions.version = agents.version
  WHERE state <> 'deleted'`

/** The fields that a list shows of the version in force. */
const toHead = `(SELECT json_object('version', agent_versions.version, 'hash', body ->> '$.hash',
    'name', body ->> '$.definition.name',
    'description', body ->> '$.definition.description', 'natural', body ->> '$.definition.natural_language_description',
    'mode', body ->> '$.definition.agent.integration_mode', 'model', body ->> '$.definition.agent.model',
    'acl', body -> '$.definition.acl')
  FROM agent_versions WHERE agent = agents.id AND agent_versions.version = agents.version)`
/** Whether the agent is shared with a principal or a role. `?6`: the permission to look for. */
const isShared = (line: string, key: string) =>
  `EXISTS (SELECT 1 FROM json_each(now, '$.acl.${line}') WHERE key = ${key} AND value LIKE ?6)`
/** As `permissionsOn` says, where the tables are: no text is read. */
const list = `
  SELECT id, owner, state, newest, created_at_ms, is_held, owner_models, json_remove(now, '$.acl') AS head FROM (
    SELECT id, owner, state, newest, created_at_ms, ${isHeld} AS is_held, ${ownerModels} AS owner_models,
      iif(version = 0, NULL, head) AS now,
      coalesce(?3, (SELECT role FROM principals WHERE principals.id = ?1), ?4) AS role
    FROM agents WHERE state <> 'deleted')
  WHERE role IS NOT NULL AND (?5 = 'see' OR state = 'active' AND now IS NOT NULL)
    AND (owner = ?1 OR role = 'operator' OR
      iif(role = 'auditor', ?5 = 'see', ${isShared('roles', 'role')} OR ${isShared('principals', '?1')}))
  ORDER BY id LIMIT ?7`
const counted = `
  SELECT (SELECT count(*) FROM agents WHERE owner = ?1 AND state <> 'deleted') AS own,
    (SELECT count(*) FROM agents WHERE owner = ?1 AND id <> ?2) AS ids,
    (SELECT count(*) FROM agents WHERE state <> 'deleted') AS "all"`

/** A new one, or one that its owner deleted. */
const isFree = `NOT EXISTS (SELECT 1 FROM agents WHERE id = ?6 AND NOT (state = 'deleted' AND owner = ?7))`
const insertAgent = `
  INSERT INTO agents (id, owner, state, version, newest, created_at_ms, behind) VALUES (?1, ?2, 'active', ?3, 1, ?4, 1)
  ON CONFLICT (id) DO UPDATE SET (state, version, newest, created_at_ms, behind) = ('active', ?3, 1, ?4, 1)
  WHERE state = 'deleted' AND owner = ?2 RETURNING id`
const insertVersion = `
  INSERT INTO agent_versions (agent, version, body, approved_by, approved_at_ms) SELECT ?1, ?2, ?3, ?4, ?5
  WHERE EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND newest = ?2 AND created_at_ms = ?6)
  ON CONFLICT DO NOTHING`

const dropOld = `
  DELETE FROM agent_versions WHERE agent = ?1 AND version <= ?2
    AND version <> (SELECT version FROM agents WHERE id = ?1 AND newest = ?3)`

/** The tables of agents that need no plugin. */
export function createAgentStore(database: Database): AgentStore {
  const all = async <T>(sql: string, ...values: readonly (string | number | null)[]) => {
    const statement = database.prepare(sql).bind(...values)
    return (await reached(() => statement.all<T>())).results
  }
  const versions = async (sql: string, ...values: readonly (string | number)[]) => {
    const texts = `SELECT body, approved_by, approved_at_ms FROM agent_versions WHERE agent = ?1 ${sql}`
    const found = await all<VersionColumns & { readonly body: string }>(texts, ...values)
    return found.map(({ body, ...row }) => toVersion(body, row))
  }
  /** Whether the statement at this place changed something; whichever it is, the head follows the version in force. */
  const changed = async (id: string, statements: Statement[], place: number): Promise<boolean> => {
    const head = database.prepare(`UPDATE agents SET head = ${toHead} WHERE id = ?1`).bind(id)
    const done = await reached(() => database.batch([...statements, head]))
    return (done[place]?.results.length ?? 0) > 0
  }
  /** An event, and a change of one row of the agents: both only if `where` holds (its values are ?6 and on). */
  const change = (
    id: string,
    event: DeploymentEvent,
    { set, where, values = [], first = [] }: Change,
  ): Promise<boolean> => {
    const condition = `EXISTS (SELECT 1 FROM agents WHERE id = ?6 AND ${where})`
    const update = `UPDATE agents SET ${set} WHERE id = ?6 AND ${where} RETURNING id`
    // Bound alike, so that one condition is written once.
    const padding = [null, null, null, null, null]
    const statements = [
      eventRow(database, event, { condition, values: [id, ...values] }),
      ...first,
      database.prepare(update).bind(...padding, id, ...values),
    ]
    return changed(id, statements, statements.length - 1)
  }
  const versionRow = (id: string, version: AgentVersion, createdAtMs: number | string) => {
    const { approvedBy = null, approvedAtMs = null, ...rest } = version
    return [id, version.version, JSON.stringify(rest), approvedBy, approvedAtMs, createdAtMs]
  }
  return {
    async find(id, by) {
      const [found] = await all<Row>(`${select} AND id = ?3`, ...seer(by), id)
      return found && toSeen(found)
    },
    async list({ role = null, elseRole = null, may, ...by }, limit) {
      const wanted = may === 'run' ? '%"run"%' : '%'
      const found = await all<ListedRow>(list, ...seer(by), role, elseRole, may, wanted, limit)
      return found.map(toListed)
    },
    async count(owner, but) {
      const [found] = await all<Awaited<ReturnType<AgentStore['count']>>>(counted, owner, but)
      return found ?? { own: 0, all: 0, ids: 0 }
    },
    versions: (id) => versions('ORDER BY version DESC', id),
    version: async (id, version) => (await versions('AND version = ?2', id, version))[0],
    add({ id, owner, createdAtMs }, version, event) {
      const inForce = version.approvedBy === undefined ? 0 : 1
      const statements = [
        eventRow(database, event, { condition: isFree, values: [id, owner] }),
        database.prepare(insertAgent).bind(id, owner, inForce, createdAtMs),
        database.prepare(insertVersion).bind(...versionRow(id, version, createdAtMs)),
      ]
      return changed(id, statements, 1)
    },
    addVersion(id, version, event) {
      const inForce = version.approvedBy === undefined ? 'version' : 'newest + 1'
      const insert = `
        INSERT INTO agent_versions (agent, version, body, approved_by, approved_at_ms) SELECT ?1, ?2, ?3, ?4, ?5
        WHERE EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND newest = ?6 AND state <> 'deleted')`
      const before = version.version - 1
      return change(id, event, {
        set: `newest = newest + 1, version = ${inForce}, behind = behind + 1`,
        where: `newest = ?7 AND state <> 'deleted'`,
        values: [before],
        first: [
          database.prepare(insert).bind(...versionRow(id, version, before)),
          database.prepare(dropOld).bind(id, version.version - keptVersions, before),
        ],
      })
    },
    approve(id, { version, hash, approvedBy = '', approvedAtMs = 0 }, event) {
      const isWaiting = `EXISTS (SELECT 1 FROM agent_versions WHERE agent = ?6 AND version = ?7
        AND approved_by IS NULL AND json_extract(body, '$.hash') = ?8)`
      const approve = `
        UPDATE agent_versions SET (approved_by, approved_at_ms) = (?1, ?2)
        WHERE agent = ?3 AND version = ?4 AND approved_by IS NULL AND json_extract(body, '$.hash') = ?5`
      // The agent's row before the version's: the condition needs the version still waiting.
      const condition = `EXISTS (SELECT 1 FROM agents WHERE id = ?6 AND state <> 'deleted' AND ${isWaiting})`
      const update = `UPDATE agents SET version = ?7, behind = behind + 1
        WHERE id = ?6 AND state <> 'deleted' AND ${isWaiting} RETURNING id`
      const values = [id, version, hash]
      const both = [
        eventRow(database, event, { condition, values }),
        database.prepare(update).bind(null, null, null, null, null, ...values),
        database.prepare(approve).bind(approvedBy, approvedAtMs, id, version, hash),
      ]
      return changed(id, both, 1)
    },
    rollBack: (id, { version }, event) =>
      change(id, event, {
        set: 'version = ?7, behind = behind + 1',
        where: `state <> 'deleted' AND version <> ?7 AND EXISTS (SELECT 1 FROM agent_versions
          WHERE agent = ?6 AND agent_versions.version = ?7 AND approved_by IS NOT NULL)`,
        values: [version],
      }),
    setState: (id, state, event) =>
      change(id, event, {
        set: 'state = ?7, behind = behind + 1',
        where: `state <> 'deleted' AND state <> ?7`,
        values: [state],
      }),
    remove: (id, event) =>
      change(id, event, {
        set: `state = 'deleted', version = 0, newest = 0, behind = 0`,
        where: `state <> 'deleted'`,
        first: [database.prepare('DELETE FROM agent_versions WHERE agent = ?1').bind(id)],
      }),
  }
}

interface Change {
  readonly set: string
  readonly where: string
  readonly values?: readonly (string | number)[]
  readonly first?: readonly Statement[]
}

interface VersionColumns {
  readonly approved_by: string | null
  readonly approved_at_ms: number | null
}

interface Row extends VersionColumns {
  readonly id: string
  readonly owner: string
  readonly state: SeenAgent['state']
  readonly newest: number
  readonly created_at_ms: number
  readonly behind: number
  /** None is in force. */
  readonly body: string | null
  readonly role: Role | null
  readonly is_held: number
  /** A list of names, as JSON. */
  readonly owner_models: string | null
}

interface ListedRow extends Pick<
  Row,
  'id' | 'owner' | 'state' | 'newest' | 'created_at_ms' | 'is_held' | 'owner_models'
> {
  readonly head: string | null
}

const seer = ({ principal, nowMs }: AgentSeer) => [principal, nowMs] as const

const toVersion = (
  body: string,
  { approved_by: approvedBy, approved_at_ms: approvedAtMs }: VersionColumns,
): AgentVersion => ({
  ...(JSON.parse(body) as AgentVersion),
  ...(approvedBy !== null && { approvedBy }),
  ...(approvedAtMs !== null && { approvedAtMs }),
})

function toSeen(row: Row): SeenAgent {
  const { id, owner, state, newest, created_at_ms: createdAtMs, behind, body, role } = row
  return {
    id,
    owner,
    state,
    newest,
    createdAtMs,
    behind,
    isOwnerHeld: row.is_held === 1,
    ...toOwnerModels(row),
    ...(body !== null && { inForce: toVersion(body, row) }),
    ...(role !== null && { askerRole: role }),
  }
}

const toOwnerModels = ({ owner_models: models }: Pick<Row, 'owner_models'>) =>
  models !== null && { ownerModels: JSON.parse(models) as readonly string[] }

const toListed = ({
  head,
  created_at_ms: createdAtMs,
  is_held: isHeldNow,
  owner_models: models,
  ...row
}: ListedRow): ListedAgent => ({
  ...row,
  ...toOwnerModels({ owner_models: models }),
  createdAtMs,
  isOwnerHeld: isHeldNow === 1,
  ...(head !== null && { head: JSON.parse(head) as AgentHead }),
})

/** Agents whose schedules do not match their definition yet, for the schedules room. */
export function createAgentsBehind(
  database: Database,
): Pick<ScheduleIndex, 'agentsBehind' | 'agentSettled'> {
  return {
    async agentsBehind(limit) {
      const statement = database.prepare(`${select} AND behind > 0 ORDER BY id LIMIT ?3`)
      const { results } = await reached(() => statement.bind('', 0, limit).all<Row>())
      return results.map((row) => toScheduled(toSeen(row)))
    },
    async agentSettled({ id, behind = 0 }) {
      // A change meanwhile has counted up `behind`, and stays.
      const sql = 'UPDATE agents SET behind = 0 WHERE id = ?1 AND behind = ?2'
      await reached(() => database.prepare(sql).bind(id, behind).run())
    },
  }
}
