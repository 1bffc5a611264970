import { deploymentEvent } from '#contracts/event.ts'
import { allOf } from '../chain.ts'
import type { Emitted } from '#runtime/session/types/audit-sink.ts'
import {
  ofEverybody,
  type ListedSubscription,
  type ManifestSchedule,
  type ScheduleIndex,
} from '#runtime/session/types/schedule-object.ts'
import type { Schedule, ToldSchedule } from '#runtime/session/types/schedule.ts'
import { billedBy, type Database, type Statement, reached } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import { createAgentsBehind } from '#features/agents/store/stored-agents.ts'

const upsert = `
  INSERT INTO schedules (id, owner, principal, due_ms, version, body, event, hears)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT (id) DO UPDATE SET (due_ms, version, body, event, hears) = (?4, ?5, ?6, ?7, ?8) WHERE version < ?5`

const isSubscription = `substr(id, 1, 4) = 'sub_'`
// An agent's is kept by the object of the agent's owner, in whose name it works.
export const keeper = `iif(owner LIKE 'agent:%', 'principal:' || principal, owner) AS owner`
const wanting = `
  SELECT ${keeper}, event, hears FROM schedules WHERE event IN (SELECT value FROM json_each(?1)) AND hears IN (?2, '${ofEverybody}')
  UNION SELECT ${keeper}, event, hears FROM schedules WHERE event IN (SELECT value FROM json_each(?3))`

const ofManifests = `
  SELECT id AS plugin, coalesce(manifest ->> '$.name', id) AS name, manifest ->> '$.schedule' AS cron FROM manifests
  WHERE state = 'enabled' AND json_type(manifest, '$.schedule') = 'text' ORDER BY id`

const subscribing = `
  SELECT id AS plugin, manifest FROM manifests
  WHERE state = 'enabled' AND json_type(manifest, '$.agent.subscribes') = 'array' ORDER BY id`

const askWanting = (
  database: Database,
  events: readonly Emitted[],
  sql: string = wanting,
): Statement => {
  const namesOf = (some: readonly Emitted[]) =>
    JSON.stringify(some.flatMap(({ name }) => [name, allOf(name)]))
  const own = events.filter(({ isPublic }) => !isPublic)
  const open = events.filter(({ isPublic }) => isPublic)
  // All events of a session belong to one principal.
  return database.prepare(sql).bind(namesOf(own), own[0]?.principal ?? '', namesOf(open))
}

/**
 * The statement with which a batch fails, all of it, where a subscription may want one of these: no owner's name is
 * JSON. None if there are none.
 */
export const failIfWanted = (
  database: Database,
  events: readonly Emitted[] = [],
): readonly Statement[] =>
  events.length === 0 ? [] : [askWanting(database, events, `SELECT json(owner) FROM (${wanting})`)]

/** Whether D1 has an older version than this. */
const isNews = 'coalesce((SELECT version FROM schedules WHERE id = ?6), -1) < ?7'

/**
 * The list of all schedules, for the watchdog and for callers who see all principals' schedules.
 *
 * @param own For reads that the caller counts itself; `database` counts for the deployment.
 */
export function createScheduleIndex(database: Database, own = database): ScheduleIndex {
  const all = async (sql: string, ...values: readonly (string | number)[]) => {
    const statement = database.prepare(sql).bind(...values)
    const { results } = await reached(() => statement.all<{ readonly body: string }>())
    return results.map(({ body }) => JSON.parse(body) as Schedule)
  }
  return {
    ...createAgentsBehind(database),
    async tell(told) {
      const statements = told.flatMap((one) => toStatements(database, one))
      await reached(() => database.batch(statements))
    },
    late: (beforeMs, limit) =>
      all('SELECT body FROM schedules WHERE due_ms < ?1 ORDER BY due_ms LIMIT ?2', beforeMs, limit),
    async find(id) {
      const [found] = await all('SELECT body FROM schedules WHERE id = ?1', id)
      return found
    },
    async ofManifests() {
      const statement = database.prepare(ofManifests)
      return (await reached(() => statement.all<ManifestSchedule>())).results
    },
    async subscribingManifests() {
      const statement = database.prepare(subscribing)
      const { results } = await reached(() =>
        statement.all<{ readonly plugin: string; readonly manifest: string }>(),
      )
      return results.map(({ plugin, manifest }) => ({ plugin, manifest: JSON.parse(manifest) }))
    },
    subscriptionsOf: (plugin) =>
      plugin === undefined
        ? all(
            `SELECT body FROM schedules WHERE owner >= 'plugin:' AND owner < 'plugin;' AND ${isSubscription}`,
          )
        : all(
            `SELECT body FROM schedules WHERE owner = ?1 AND ${isSubscription}`,
            `plugin:${plugin}`,
          ),
    async wanting(events, counted) {
      const asked = counted ? own : database
      const found = await reached(() => asked.batch([askWanting(asked, events)]))
      counted?.(billedBy(found))
      return (found[0]?.results ?? []) as unknown as readonly ListedSubscription[] // its columns, as they were put there
    },
    list: ({ principal, limit, after = '', subscriptions }) => {
      const kind = subscriptions ? isSubscription : `NOT ${isSubscription}`
      return principal === undefined
        ? all(
            `SELECT body FROM schedules WHERE id > ?1 AND ${kind} ORDER BY id LIMIT ?2`,
            after,
            limit,
          )
        : all(
            `SELECT body FROM schedules WHERE id > ?1 AND ${kind} AND principal = ?3 ORDER BY id LIMIT ?2`,
            after,
            limit,
            principal,
          )
    },
  }
}

/** First the events, each only if its version is news, then the row that says that it is none any more. */
function toStatements(
  database: Database,
  { id, owner, version, schedule, dueMs, events }: ToldSchedule,
): Statement[] {
  const told = events.map(({ type, data, version: of, ...place }) =>
    eventRow(database, deploymentEvent(type, place, data), {
      condition: isNews,
      values: [id, of],
    }),
  )
  // A schedule that is gone keeps no row: its object reports it as gone to every later caller.
  if (!schedule) return [...told, database.prepare('DELETE FROM schedules WHERE id = ?1').bind(id)]
  const { principal } = schedule.asker
  const { when } = schedule.spec
  const isHeard = 'event' in when && !schedule.paused
  const [event, hears] = isHeard
    ? [when.event, when.of === 'everybody' ? ofEverybody : principal]
    : [null, null]
  const body = JSON.stringify(schedule)
  const values = [id, owner, principal, dueMs ?? null, version, body, event, hears]
  const row = database.prepare(upsert).bind(...values)
  return [...told, row]
}
