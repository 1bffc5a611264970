import { errorMessage, IsolaError } from '#contracts/errors.ts'
import type { TrustStore } from '#runtime/catalog/types/plugin-upload.ts'
import { type Database, rowsOf, together } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'

const select = `
  SELECT id, name, public_key AS publicKey, added_by AS addedBy, added_at_ms AS addedAtMs
  FROM trusted_keys ORDER BY name`
const insert = `
  INSERT INTO trusted_keys (id, name, public_key, added_by, added_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)`

/** The table of keys whose signatures the operator accepts. */
export function createTrustStore(database: Database): TrustStore {
  return {
    list: () => rowsOf(database, select),
    async add({ id, name, publicKey, addedBy, addedAtMs }, event) {
      const row = database.prepare(insert).bind(id, name, publicKey, addedBy, addedAtMs)
      await together(database, row, eventRow(database, event)).catch((error: unknown) => {
        if (/trusted_keys\.(name|id)/.test(errorMessage(error))) throw taken()
        throw error
      })
    },
    async remove(id, event) {
      const only = { condition: 'EXISTS (SELECT 1 FROM trusted_keys WHERE id = ?6)', values: [id] }
      const row = database.prepare('DELETE FROM trusted_keys WHERE id = ?1').bind(id)
      await together(database, eventRow(database, event, only), row)
    },
  }
}

function taken(): IsolaError {
  const message =
    'name: this name or this key is accepted already; `isola trust list` shows which, `isola trust ' +
    'remove` takes it away.'
  return new IsolaError('request_conflict', message, { param: 'name' })
}
