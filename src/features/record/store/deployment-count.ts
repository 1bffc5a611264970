import { plusPlatform } from '#contracts/lease.ts'
import type { PlatformAmounts, PlatformCount } from '#contracts/platform.ts'
import type { Namespace } from '#features/plugins/store/bundles.ts'
import { billedBy, type Database, type Found, type Statement } from '#platform/d1/database.ts'

/**
 * Counts the platform's work that belongs to no run: checked keys, lists, needless wakes of objects, the daily sweep.
 * The next row of the record that this isolate writes takes the count along, so that it needs no row of its own; if
 * the isolate ends first, the count is lost.
 */
export interface DeploymentCount extends PlatformCount {
  /** Takes the count for a row. A caller whose write fails adds it back with `count`. */
  readonly take: () => PlatformAmounts
}

export function createDeploymentCount(): DeploymentCount {
  let counted: PlatformAmounts = {}
  return {
    count: (amounts) => void (counted = plusPlatform(counted, amounts)),
    take() {
      const taken = counted
      counted = {}
      return taken
    },
  }
}

/** Wraps a database so that each of its answers is counted. */
export function watchDatabase(database: Database, { count }: PlatformCount): Database {
  const originals = new WeakMap<Statement, Statement>()
  const counted = <Row>(found: Found<Row>): Found<Row> => {
    count(billedBy([found]))
    return found
  }
  const watched = (statement: Statement): Statement => {
    const all = async <Row>() => counted(await statement.all<Row>())
    const one: Statement = {
      bind: (...values) => watched(statement.bind(...values)),
      all,
      // D1 reports no figures for `first`, so `all` is used.
      first: async <Row>() => (await all<Row>()).results[0] ?? null,
      run: async () => counted((await statement.run()) as Found<unknown>),
    }
    originals.set(one, statement)
    return one
  }
  return {
    prepare: (sql) => watched(database.prepare(sql)),
    async batch(statements) {
      const found = await database.batch(statements.map((one) => originals.get(one) ?? one))
      count(billedBy(found))
      return found
    },
  }
}

/** Wraps a KV namespace so that each operation is counted. */
export const watchNamespace = (namespace: Namespace, { count }: PlatformCount): Namespace => ({
  async get(key) {
    count({ kvReads: 1 })
    return namespace.get(key)
  },
  async put(key, value, options) {
    count({ kvWrites: 1 })
    return namespace.put(key, value, options)
  },
  async delete(key) {
    count({ kvWrites: 1 })
    return namespace.delete(key)
  },
})
