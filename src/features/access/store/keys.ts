import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { KeyStore, KeyView, NewKey } from '../types/keys.ts'
import type { Rights, Role } from '#contracts/keys.ts'
import type { Database } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import { reached } from '#platform/d1/outage.ts'
import { revokeRow } from '#platform/d1/revoke-row.ts'

const ofPrincipal = 'role, agents, models, daily_tokens, daily_cost_nano_usd'
const select = `
  SELECT keys.id, principal, hint, keys.created_at_ms, expires_at_ms, revoked_at_ms, followed_by, persona, ${ofPrincipal}
  FROM keys JOIN principals ON principals.id = principal`
const insertPrincipal = `
  INSERT INTO principals (id, ${ofPrincipal}, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`
const columns = '(id, principal, hash, hint, created_at_ms, expires_at_ms, persona)'
const insertKey = `INSERT INTO keys ${columns} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`

/** The tables of principals and keys: hashes only, from which no key can be recovered. */
export function createKeyStore(database: Database): KeyStore {
  const first = async (where: string, value: string): Promise<KeyView | undefined> => {
    const statement = database.prepare(`${select} WHERE ${where}`).bind(value)
    const row = await reached(() => statement.first<KeyRow>())
    return row ? toView(row) : undefined
  }
  return {
    findByHash: (hash) => first('hash = ?1', hash),
    find: (id) => first('keys.id = ?1', id),
    async list({ principal, limit }) {
      const sql = `${select} WHERE ?1 IS NULL OR principal = ?1 ORDER BY keys.created_at_ms DESC, keys.id LIMIT ?2`
      const statement = database.prepare(sql).bind(principal ?? null, limit)
      const { results } = await reached(() => statement.all<KeyRow>())
      return results.map(toView)
    },
    async principals() {
      const statement = database.prepare('SELECT id FROM principals')
      const { results } = await reached(() => statement.all<{ readonly id: string }>())
      return ['operator', ...results.map(({ id }) => id)]
    },
    async rightsOf(principal) {
      const sql = `SELECT ${ofPrincipal} FROM principals WHERE id = ?1`
      const row = await reached(() => database.prepare(sql).bind(principal).first<RightsRow>())
      return row ? toRights(row) : undefined
    },
    async add(key, event, rights) {
      const statements = [
        database.prepare(insertKey).bind(...valuesOf(key)),
        eventRow(database, event),
      ]
      if (rights) {
        const values = [key.principal, ...toColumns(rights), key.createdAtMs]
        statements.unshift(database.prepare(insertPrincipal).bind(...values))
      }
      await reached(() => database.batch(statements)).catch((error: unknown) => {
        if (/principals\.id/.test(errorMessage(error))) throw taken(key.principal)
        if (/being erased/.test(errorMessage(error))) throw beingErased()
        throw error
      })
    },
    async change(principal, rights, event) {
      const only = {
        condition: 'EXISTS (SELECT 1 FROM principals WHERE id = ?6)',
        values: [principal],
      }
      const sql = `UPDATE principals SET (${ofPrincipal}) = (?2, ?3, ?4, ?5, ?6) WHERE id = ?1`
      const statements = [
        eventRow(database, event, only),
        database.prepare(sql).bind(principal, ...toColumns(rights)),
      ]
      await reached(() => database.batch(statements))
    },
    async revoke(id, event) {
      await revokeRow(database, 'keys', { id, event })
    },
    async rotate({ id, endsAtMs }, key, event) {
      const nowMs = event.atMs
      const only = {
        condition: `EXISTS (SELECT 1 FROM keys WHERE id = ?6 AND ${isActive('?7')})`,
        values: [id, nowMs],
      }
      const insert = `
        INSERT INTO keys ${columns} SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
        WHERE EXISTS (SELECT 1 FROM keys WHERE id = ?8 AND ${isActive('?9')})`
      const end = `
        UPDATE keys SET followed_by = ?4,
          revoked_at_ms = CASE WHEN ?2 <= ?3 THEN ?3 END,
          expires_at_ms = CASE WHEN ?2 <= ?3 THEN expires_at_ms ELSE min(coalesce(expires_at_ms, ?2), ?2) END
        WHERE id = ?1 AND ${isActive('?3')}`
      const statements = [
        eventRow(database, event, only),
        database.prepare(insert).bind(...valuesOf(key), id, nowMs),
        database.prepare(end).bind(id, endsAtMs, nowMs, key.id),
      ]
      await reached(() => database.batch(statements))
    },
  }
}

const isActive = (now: string) =>
  `revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ${now})`

interface RightsRow {
  readonly role: Role
  readonly agents: string | null
  readonly models: string | null
  readonly daily_tokens: number | null
  readonly daily_cost_nano_usd: number | null
}

interface KeyRow extends RightsRow {
  readonly id: string
  readonly principal: string
  readonly hint: string
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly revoked_at_ms: number | null
  readonly followed_by: string | null
  readonly persona: string | null
}

function toView(row: KeyRow): KeyView {
  const { id, principal, hint, created_at_ms: createdAtMs } = row
  return {
    id,
    principal,
    hint,
    createdAtMs,
    ...toRights(row),
    ...(row.persona !== null && { persona: row.persona }),
    ...(row.expires_at_ms !== null && { expiresAtMs: row.expires_at_ms }),
    ...(row.revoked_at_ms !== null && { revokedAtMs: row.revoked_at_ms }),
    ...(row.followed_by !== null && { followedBy: row.followed_by }),
  }
}

function toRights(row: RightsRow): Rights {
  const limits = {
    ...(row.daily_tokens !== null && { tokens: row.daily_tokens }),
    ...(row.daily_cost_nano_usd !== null && { costNanoUsd: row.daily_cost_nano_usd }),
  }
  return {
    role: row.role,
    ...(row.agents !== null && { agents: toNames(row.agents) }),
    ...(row.models !== null && { models: toNames(row.models) }),
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

/** A value that is not a list allows nothing. */
function toNames(json: string): readonly string[] {
  const value: unknown = JSON.parse(json) // the table checks that it is JSON
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

const toColumns = ({ role, agents, models, limits = {} }: Rights) => [
  role,
  agents ? JSON.stringify(agents) : null,
  models ? JSON.stringify(models) : null,
  limits.tokens ?? null,
  limits.costNanoUsd ?? null,
]

const valuesOf = ({ id, principal, hash, hint, createdAtMs, expiresAtMs, persona }: NewKey) => [
  id,
  principal,
  hash,
  hint,
  createdAtMs,
  expiresAtMs ?? null,
  persona ?? null,
]

function beingErased(): IsolaError {
  const message = 'principal: is being erased; nobody is let in by this name until that is done.'
  return new IsolaError('request_conflict', message, { param: 'principal' })
}

function taken(principal: string): IsolaError {
  const message = `principal: there is a principal "${principal}" already. For another key of it leave out role, agents, models and limits.`
  return new IsolaError('request_conflict', message, { param: 'principal' })
}
