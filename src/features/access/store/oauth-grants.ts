import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { GrantStore, OAuthGrant } from '../types/oauth.ts'
import { isScope } from '../types/scopes.ts'
import type { Database } from '#platform/d1/database.ts'
import { eventRow, revokeRow } from '#platform/d1/deployment-log.ts'
import { reached, rowsOf, together } from '#platform/d1/database.ts'

const given =
  'id, principal, client, client_name, redirect_uri, resource, scopes, signed_in_with, created_at_ms, expires_at_ms'
const select = `
  SELECT id, principal, client, client_name AS clientName, redirect_uri AS redirectUri, resource, scopes,
    signed_in_with AS signedInWith, created_at_ms AS createdAtMs, expires_at_ms AS expiresAtMs,
    library_id AS libraryId, redeemed_at_ms AS redeemedAtMs, revoked_at_ms AS revokedAtMs,
    followed_by AS followedBy
  FROM oauth_grants`

/** The grants of clients. No row holds a token, nor anything from which a token could be made. */
export function createGrantStore(database: Database): GrantStore {
  const all = async (rest: string, ...values: (string | number | null)[]) =>
    (await rowsOf<GrantRow>(database, `${select} ${rest}`, ...values)).map(toGrant)
  return {
    find: async (id) => (await all('WHERE id = ?1', id))[0],
    findByLibraryId: async (libraryId) =>
      (await all('WHERE library_id = ?1 LIMIT 1', libraryId))[0],
    list: ({ principal = null, limit }) =>
      all(
        'WHERE ?1 IS NULL OR principal = ?1 ORDER BY created_at_ms DESC, id LIMIT ?2',
        principal,
        limit,
      ),
    async add(grant, event) {
      // A client that is named by a document is many installations: only the installation at the same redirect
      // address is replaced.
      const isReplaced = `
        principal = ?6 AND client = ?7 AND resource = ?8 AND revoked_at_ms IS NULL AND expires_at_ms > ?10
          AND (?7 NOT LIKE 'https://%' OR redirect_uri = ?9)`
      // Each sign-in replaces the previous one, so there is at most one.
      const replaced = `(SELECT id FROM oauth_grants WHERE ${isReplaced} LIMIT 1)`
      const replace = `
        UPDATE oauth_grants SET revoked_at_ms = ?5, followed_by = ?6
        WHERE principal = ?1 AND client = ?2 AND resource = ?3 AND revoked_at_ms IS NULL AND expires_at_ms > ?5
          AND (?2 NOT LIKE 'https://%' OR redirect_uri = ?4)`
      const insert = `INSERT INTO oauth_grants (${given}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
      const { principal, client, resource, redirectUri, createdAtMs } = grant
      // The id of the replaced grant is found by the statement itself.
      const end = { owner: principal, reason: 'replaced', by: grant.id, grant: '' }
      const revoked = { ...event, type: 'oauth_revoked', data: end } as const
      const statements = [
        eventRow(database, revoked, {
          condition: `${replaced} IS NOT NULL`,
          values: [principal, client, resource, redirectUri, createdAtMs],
          data: `json_set(?5, '$.grant', ${replaced})`,
        }),
        database
          .prepare(replace)
          .bind(principal, client, resource, redirectUri, createdAtMs, grant.id),
        database.prepare(insert).bind(...valuesOf(grant)),
        eventRow(database, event),
      ]
      await together(database, ...statements).catch((error: unknown) => {
        if (/oauth_grants\.id/.test(errorMessage(error))) throw taken()
        throw error
      })
    },
    async redeem(id, libraryId, nowMs) {
      const sql = `
        UPDATE oauth_grants SET redeemed_at_ms = ?3, library_id = ?2
        WHERE id = ?1 AND redeemed_at_ms IS NULL AND revoked_at_ms IS NULL AND expires_at_ms > ?3
        RETURNING id`
      const statement = database.prepare(sql).bind(id, libraryId, nowMs)
      return (await reached(() => statement.first())) !== null
    },
    async revoke(id, event) {
      await revokeRow(database, 'oauth_grants', { id, event })
    },
    async purge(endedMs) {
      // Work of a replaced grant goes on while its successor holds, so the row stays as long.
      const sql = `
        DELETE FROM oauth_grants WHERE min(expires_at_ms, coalesce(revoked_at_ms, expires_at_ms)) < ?1
          AND (followed_by IS NULL OR followed_by NOT IN (SELECT id FROM oauth_grants))`
      await reached(() => database.prepare(sql).bind(endedMs).run())
    },
  }
}

interface GrantRow extends Omit<OAuthGrant, 'scopes'> {
  readonly scopes: string
}

const toGrant = ({ scopes, ...row }: GrantRow): OAuthGrant => ({
  ...row,
  scopes: toScopes(scopes),
})

/** A value that is not a list allows nothing. */
function toScopes(json: string): OAuthGrant['scopes'] {
  const value: unknown = JSON.parse(json) // the table checks that it is JSON
  return Array.isArray(value) ? value.map(String).filter(isScope) : []
}

const valuesOf = (grant: OAuthGrant) => [
  grant.id,
  grant.principal,
  grant.client,
  grant.clientName,
  grant.redirectUri,
  grant.resource,
  JSON.stringify(grant.scopes),
  grant.signedInWith,
  grant.createdAtMs,
  grant.expiresAtMs,
]

function taken(): IsolaError {
  return new IsolaError(
    'request_conflict',
    'This page was used before. Start again from the program that sent you here.',
  )
}
