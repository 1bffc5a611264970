import type { SecretStore } from '../types/secrets.ts'
import type { Database } from '#platform/d1/database.ts'
import { eventRow } from '#platform/d1/deployment-log.ts'
import { rowsOf, together } from '#platform/d1/database.ts'

const select =
  'SELECT name, sealed, key_id AS keyId, set_by AS setBy, set_at_ms AS setAtMs FROM secrets'
const put = `
  INSERT INTO secrets (name, sealed, key_id, set_by, set_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (name) DO UPDATE SET (sealed, key_id, set_by, set_at_ms) = (?2, ?3, ?4, ?5)`
/** A value that was set meanwhile must not be overwritten. */
const reseal = 'UPDATE secrets SET sealed = ?2, key_id = ?3 WHERE name = ?1 AND sealed = ?4'

/** The table of secrets: sealed, and never opened here. */
export function createSecretStore(database: Database): SecretStore {
  return {
    list: () => rowsOf(database, `${select} ORDER BY name`),
    find: (names) =>
      rowsOf(
        database,
        `${select} WHERE name IN (SELECT value FROM json_each(?1))`,
        JSON.stringify(names),
      ),
    async put({ name, sealed, keyId, setBy, setAtMs }, event) {
      const row = database.prepare(put).bind(name, sealed, keyId, setBy, setAtMs)
      await together(database, row, eventRow(database, event))
    },
    async remove(name, event) {
      const only = { condition: 'EXISTS (SELECT 1 FROM secrets WHERE name = ?6)', values: [name] }
      const row = database.prepare('DELETE FROM secrets WHERE name = ?1').bind(name)
      await together(database, eventRow(database, event, only), row)
    },
    async reseal(secrets, event) {
      const rows = secrets.map(({ name, sealed, keyId, was }) =>
        database.prepare(reseal).bind(name, sealed, keyId, was),
      )
      await together(database, ...rows, eventRow(database, event))
    },
  }
}
