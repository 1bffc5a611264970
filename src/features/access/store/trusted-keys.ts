import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { TrustedKey, TrustStore } from '#runtime/catalog/types/plugin-upload.ts'
import type { Database } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import { reached } from '#platform/d1/outage.ts'

const columns = 'id, name, public_key, added_by, added_at_ms'

/** The table of keys whose signatures the operator accepts. */
export function createTrustStore(database: Database): TrustStore {
  return {
    async list() {
      const statement = database.prepare(`SELECT ${columns} FROM trusted_keys ORDER BY name`)
      const { results } = await reached(() => statement.all<TrustedKeyRow>())
      return results.map(toKey)
    },
    async add({ id, name, publicKey, addedBy, addedAtMs }, event) {
      const insert = `INSERT INTO trusted_keys (${columns}) VALUES (?1, ?2, ?3, ?4, ?5)`
      const statements = [
        database.prepare(insert).bind(id, name, publicKey, addedBy, addedAtMs),
        eventRow(database, event),
      ]
      await reached(() => database.batch(statements)).catch((error: unknown) => {
        if (/trusted_keys\.(name|id)/.test(errorMessage(error))) throw taken()
        throw error
      })
    },
    async remove(id, event) {
      const only = { condition: 'EXISTS (SELECT 1 FROM trusted_keys WHERE id = ?6)', values: [id] }
      const statements = [
        eventRow(database, event, only),
        database.prepare('DELETE FROM trusted_keys WHERE id = ?1').bind(id),
      ]
      await reached(() => database.batch(statements))
    },
  }
}

interface TrustedKeyRow {
  readonly id: string
  readonly name: string
  readonly public_key: string
  readonly added_by: string
  readonly added_at_ms: number
}

const toKey = ({ id, name, ...row }: TrustedKeyRow): TrustedKey => ({
  id,
  name,
  publicKey: row.public_key,
  addedBy: row.added_by,
  addedAtMs: row.added_at_ms,
})

function taken(): IsolaError {
  const message =
    'name: this name or this key is accepted already; `isola trust list` shows which, `isola trust remove` takes it away.'
  return new IsolaError('request_conflict', message, { param: 'name' })
}
