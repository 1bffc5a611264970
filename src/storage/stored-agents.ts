import type { DeploymentEvent } from '#contracts/event.ts'
import type { Role } from '#contracts/role.ts'
import type { AgentSeer, AgentStore, AgentVersion, SeenAgent } from '#contracts/stored-agent.ts'
import type { Database, Statement } from './database.ts'
import { eventRow } from './deployment-log.ts'
import { reached } from './outage.ts'

/** An agent with its version in force, the role of whoever asks and whether its owner still has a key: one look. */
const select = `
  SELECT id, owner, state, newest, created_at_ms, body, approved_by, approved_at_ms,
    (SELECT role FROM principals WHERE principals.id = ?1) AS role,
    owner = 'operator' OR EXISTS (SELECT 1 FROM keys WHERE principal = owner AND revoked_at_ms IS NULL
      AND (expires_at_ms IS NULL OR expires_at_ms > ?2)) AS is_held
  FROM agents LEFT JOIN agent_versions ON agent = id AND agent_versions.version = agents.version
  WHERE state <> 'deleted'`

/** A new one, or one that its owner deleted. */
const isFree = `NOT EXISTS (SELECT 1 FROM agents WHERE id = ?6 AND NOT (state = 'deleted' AND owner = ?7))`
const insertAgent = `
  INSERT INTO agents (id, owner, state, version, newest, created_at_ms) VALUES (?1, ?2, 'active', ?3, 1, ?4)
  ON CONFLICT (id) DO UPDATE SET (state, version, newest, created_at_ms) = ('active', ?3, 1, ?4)
  WHERE state = 'deleted' AND owner = ?2 RETURNING id`
const insertVersion = `
  INSERT INTO agent_versions (agent, version, body, approved_by, approved_at_ms) SELECT ?1, ?2, ?3, ?4, ?5
  WHERE EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND newest = ?2 AND created_at_ms = ?6)
  ON CONFLICT DO NOTHING`

/** The tables of agents that need no plugin. */
export function createAgentStore(database: Database): AgentStore {
  const rows = async (sql: string, ...values: readonly (string | number)[]) => {
    const statement = database.prepare(sql).bind(...values)
    return (await reached(() => statement.all<Row>())).results.map(toSeen)
  }
  /** Whether the last statement changed something. */
  const changed = async (statements: Statement[]): Promise<boolean> => {
    const done = await reached(() => database.batch(statements))
    return (done.at(-1)?.results.length ?? 0) > 0
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
    return changed([
      eventRow(database, event, { condition, values: [id, ...values] }),
      ...first,
      database.prepare(update).bind(...padding, id, ...values),
    ])
  }
  const versionRow = (id: string, version: AgentVersion, createdAtMs: number | string) => {
    const { approvedBy = null, approvedAtMs = null, ...rest } = version
    return [id, version.version, JSON.stringify(rest), approvedBy, approvedAtMs, createdAtMs]
  }
  return {
    async find(id, by) {
      return (await rows(`${select} AND id = ?3`, ...seer(by), id))[0]
    },
    list: (by, limit) => rows(`${select} ORDER BY id LIMIT ?3`, ...seer(by), limit),
    async versions(id) {
      const sql = `SELECT body, approved_by, approved_at_ms FROM agent_versions WHERE agent = ?1 ORDER BY version DESC`
      const { results } = await reached(() =>
        database.prepare(sql).bind(id).all<VersionColumns & { readonly body: string }>(),
      )
      return results.map(({ body, ...row }) => toVersion(body, row))
    },
    async add({ id, owner, createdAtMs }, version, event) {
      const inForce = version.approvedBy === undefined ? 0 : 1
      const [, made] = await reached(() =>
        database.batch([
          eventRow(database, event, { condition: isFree, values: [id, owner] }),
          database.prepare(insertAgent).bind(id, owner, inForce, createdAtMs),
          database.prepare(insertVersion).bind(...versionRow(id, version, createdAtMs)),
        ]),
      )
      return (made?.results.length ?? 0) > 0
    },
    addVersion(id, version, event) {
      const inForce = version.approvedBy === undefined ? 'version' : 'newest + 1'
      const insert = `
        INSERT INTO agent_versions (agent, version, body, approved_by, approved_at_ms) SELECT ?1, ?2, ?3, ?4, ?5
        WHERE EXISTS (SELECT 1 FROM agents WHERE id = ?1 AND newest = ?6 AND state <> 'deleted')`
      const before = version.version - 1
      return change(id, event, {
        set: `newest = newest + 1, version = ${inForce}`,
        where: `newest = ?7 AND state <> 'deleted'`,
        values: [before],
        first: [database.prepare(insert).bind(...versionRow(id, version, before))],
      })
    },
    approve(id, { version, hash, approvedBy = '', approvedAtMs = 0 }, event) {
      const isWaiting = `EXISTS (SELECT 1 FROM agent_versions WHERE agent = ?6 AND version = ?7 AND approved_by IS NULL AND json_extract(body, '$.hash') = ?8)`
      const approve = `
        UPDATE agent_versions SET (approved_by, approved_at_ms) = (?1, ?2)
        WHERE agent = ?3 AND version = ?4 AND approved_by IS NULL AND json_extract(body, '$.hash') = ?5`
      const statements = [
        database.prepare(approve).bind(approvedBy, approvedAtMs, id, version, hash),
      ]
      // The agent first: what it is held to is still waiting then.
      const condition = `EXISTS (SELECT 1 FROM agents WHERE id = ?6 AND state <> 'deleted' AND ${isWaiting})`
      const update = `UPDATE agents SET version = ?7 WHERE id = ?6 AND state <> 'deleted' AND ${isWaiting} RETURNING id`
      const values = [id, version, hash]
      return reached(() =>
        database.batch([
          eventRow(database, event, { condition, values }),
          database.prepare(update).bind(null, null, null, null, null, ...values),
          ...statements,
        ]),
      ).then(([, updated]) => (updated?.results.length ?? 0) > 0)
    },
    rollBack: (id, { version }, event) =>
      change(id, event, {
        set: 'version = ?7',
        where: `state <> 'deleted' AND version <> ?7 AND EXISTS (SELECT 1 FROM agent_versions
          WHERE agent = ?6 AND agent_versions.version = ?7 AND approved_by IS NOT NULL)`,
        values: [version],
      }),
    setState: (id, state, event) =>
      change(id, event, {
        set: 'state = ?7',
        where: `state <> 'deleted' AND state <> ?7`,
        values: [state],
      }),
    remove: (id, event) =>
      change(id, event, {
        set: `state = 'deleted', version = 0, newest = 0`,
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
  /** None is in force. */
  readonly body: string | null
  readonly role: Role | null
  readonly is_held: number
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
  const { id, owner, state, newest, created_at_ms: createdAtMs, body, role } = row
  return {
    id,
    owner,
    state,
    newest,
    createdAtMs,
    isOwnerHeld: row.is_held === 1,
    ...(body !== null && { inForce: toVersion(body, row) }),
    ...(role !== null && { askerRole: role }),
  }
}
