import type { PrincipalStorage } from '../principal-rows.ts'

/**
 * Removes every row of an object's own tables. The tables stay: who has them open goes on. What the platform and its
 * jobs keep is not the object's.
 *
 * @returns How many there were.
 */
export const emptyTables = (storage: PrincipalStorage): number =>
  storage.transactionSync(() => {
    const all = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'cf\\_%' ESCAPE '\\'`
    return storage.sql
      .exec(all)
      .toArray()
      .reduce((sum, { name }) => {
        const [row] = storage.sql.exec(`SELECT count(*) AS rows FROM "${String(name)}"`).toArray()
        storage.sql.exec(`DELETE FROM "${String(name)}"`)
        return sum + Number(row?.['rows'] ?? 0)
      }, 0)
  })
