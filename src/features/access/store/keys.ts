import { defined } from '#contracts/defined.ts'
import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { KeyStore, KeyView, NewKey } from '../types/keys.ts'
import type { Rights, Role } from '#contracts/keys.ts'
import type { Database } from '#platform/d1/database.ts'
import { eventRow, revokeRow } from '#platform/d1/deployment-log.ts'
import { rowsOf, together } from '#platform/d1/database.ts'

const ofPrincipal = 'role, agents, models, daily_tokens, daily_cost_nano_usd'
const rights = 'role, agents, models, daily_tokens AS tokens, daily_cost_nano_usd AS costNanoUsd'
const select = `
  SELECT keys.id, principal, hint, keys.created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs,
    revoked_at_ms AS revokedAtMs, followed_by AS followedBy, persona, ${rights}
  FROM keys JOIN principals ON principals.id = principal`
const insertPrincipal = `
  INSERT INTO principals (id, ${ofPrincipal}, created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`
const columns = '(id, principal, hash, hint, created_at_ms, expires_at_ms, persona)'
const insertKey = `INSERT INTO keys ${columns} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`

/** The tables of principals and keys: hashes only, from which no key can be recovered. */
export function createKeyStore(database: Database): KeyStore {
  const all = async (rest: string, ...values: (string | number | null)[]) =>
    (await rowsOf<KeyRow>(database, `${select} WHERE ${rest}`, ...values)).map(toView)
  return {
    findByHash: async (hash) => (await all('hash = ?1', hash))[0],
    find: async (id) => (await all('keys.id = ?1', id))[0],
    list: ({ principal = null, limit }) =>
      all(
        '?1 IS NULL OR principal = ?1 ORDER BY keys.created_at_ms DESC, keys.id LIMIT ?2',
        principal,
        limit,
      ),
    async principals() {
      const rows = await rowsOf<{ readonly id: string }>(database, 'SELECT id FROM principals')
      return ['operator', ...rows.map(({ id }) => id)]
    },
    async rightsOf(principal) {
      const sql = `SELECT ${rights} FROM principals WHERE id = ?1`
      const [row] = await rowsOf<RightsRow>(database, sql, principal)
      return row && toRights(row)
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
      await together(database, ...statements).catch((error: unknown) => {
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
      const row = database.prepare(sql).bind(principal, ...toColumns(rights))
      await together(database, eventRow(database, event, only), row)
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
      await together(
        database,
        eventRow(database, event, only),
        database.prepare(insert).bind(...valuesOf(key), id, nowMs),
        database.prepare(end).bind(id, endsAtMs, nowMs, key.id),
      )
    },
  }
}

const isActive = (now: string) =>
  `revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ${now})`

/** The columns of a principal; a limit that is not set is absent. */
interface RightsRow {
  readonly role: Role
  readonly agents?: string
  readonly models?: string
  readonly tokens?: number
  readonly costNanoUsd?: number
}

type KeyRow = RightsRow & Omit<KeyView, keyof Rights>

function toView({ role, agents, models, tokens, costNanoUsd, ...row }: KeyRow): KeyView {
  return { ...row, ...toRights({ role, ...defined({ agents, models, tokens, costNanoUsd }) }) }
}

function toRights({ role, agents, models, tokens, costNanoUsd }: RightsRow): Rights {
  const limits = defined({ tokens, costNanoUsd })
  return {
    role,
    ...(agents !== undefined && { agents: toNames(agents) }),
    ...(models !== undefined && { models: toNames(models) }),
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
  return new IsolaError(
    'request_conflict',
    'principal: is being erased; no key opens anything under this name until that is done.',
    { param: 'principal' },
  )
}

function taken(principal: string): IsolaError {
  const message =
    `principal: there is a principal "${principal}" already. For another key of it ` +
    'leave out role, agents, models and limits.'
  return new IsolaError('request_conflict', message, { param: 'principal' })
}
