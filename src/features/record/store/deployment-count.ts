import { plusPlatform } from '#contracts/platform-sum.ts'
import type { PlatformAmounts, PlatformCount } from '#contracts/platform.ts'
import type { Namespace } from '#features/plugins/store/bundles.ts'
import { billedBy, type Database, type Found, type Statement } from '#platform/d1/database.ts'

/**
 * What no run made the platform do: keys that were checked, lists that were read, objects that woke for nothing, the
 * daily sweep. It is carried by the next row of the record that this isolate writes, so it needs none of its own; what
 * an isolate has not carried when it ends is lost.
 */
export interface DeploymentCount extends PlatformCount {
  /** What has not been carried yet; whoever could not carry it counts it again. */
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

/** The same database, of which every answer is counted. */
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
      // Of `first` the platform says no figures.
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

/** The same namespace, of which every operation is counted. */
export const watchNamespace = (namespace: Namespace, { count }: PlatformCount): Namespace => ({
  get(key) {
    count({ kvReads: 1 })
    return namespace.get(key)
  },
  put(key, value) {
    count({ kvWrites: 1 })
    return namespace.put(key, value)
  },
  delete(key) {
    count({ kvWrites: 1 })
    return namespace.delete(key)
  },
})
