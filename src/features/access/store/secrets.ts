import type { SealedSecret, SecretStore } from '../types/secrets.ts'
import type { Database } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import { reached } from '#platform/d1/outage.ts'

const select = 'SELECT name, sealed, key_id, set_by, set_at_ms FROM secrets'
const put = `
  INSERT INTO secrets (name, sealed, key_id, set_by, set_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (name) DO UPDATE SET (sealed, key_id, set_by, set_at_ms) = (?2, ?3, ?4, ?5)`
/** A value that was set meanwhile must not be overwritten. */
const reseal = 'UPDATE secrets SET sealed = ?2, key_id = ?3 WHERE name = ?1 AND sealed = ?4'

/** The table of secrets: sealed, and never opened here. */
export function createSecretStore(database: Database): SecretStore {
  return {
    async list() {
      const statement = database.prepare(`${select} ORDER BY name`)
      return (await reached(() => statement.all<Row>())).results.map(toSecret)
    },
    async find(names) {
      const sql = `${select} WHERE name IN (SELECT value FROM json_each(?1))`
      const statement = database.prepare(sql).bind(JSON.stringify(names))
      return (await reached(() => statement.all<Row>())).results.map(toSecret)
    },
    async put({ name, sealed, keyId, setBy, setAtMs }, event) {
      const row = database.prepare(put).bind(name, sealed, keyId, setBy, setAtMs)
      await reached(() => database.batch([row, eventRow(database, event)]))
    },
    async remove(name, event) {
      const only = { condition: 'EXISTS (SELECT 1 FROM secrets WHERE name = ?6)', values: [name] }
      const row = database.prepare('DELETE FROM secrets WHERE name = ?1').bind(name)
      await reached(() => database.batch([eventRow(database, event, only), row]))
    },
    async reseal(secrets, event) {
      const rows = secrets.map(({ name, sealed, keyId, was }) =>
        database.prepare(reseal).bind(name, sealed, keyId, was),
      )
      await reached(() => database.batch([...rows, eventRow(database, event)]))
    },
  }
}

interface Row {
  readonly name: string
  readonly sealed: string
  readonly key_id: string
  readonly set_by: string
  readonly set_at_ms: number
}

const toSecret = (row: Row): SealedSecret => ({
  name: row.name,
  sealed: row.sealed,
  keyId: row.key_id,
  setBy: row.set_by,
  setAtMs: row.set_at_ms,
})
