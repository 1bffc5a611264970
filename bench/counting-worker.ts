// The product with counters around its writes, for the benchmark only. Times are measured on the Worker as it is
// deployed, counts in this one. Nothing of this is reachable in a deployment.
import { env as bindings } from 'cloudflare:workers'
import app, {
  Catalog as ProductCatalog,
  McpServer,
  PluginRunner,
  PluginService,
  Principal as ProductPrincipal,
  Session as ProductSession,
} from '../src/index.ts'

const counts = { rows: 0, d1Rows: 0, alarms: 0, statements: 0 }
/** How often, and with how many rows written, by the words a statement begins with: where a figure comes from. */
const byStatement = new Map<string, { times: number; rows: number }>()

const note = (query: string, rows: number): void => {
  const what = query.trim().replace(/\s+/g, ' ').slice(0, 60)
  const { times, rows: before } = byStatement.get(what) ?? { times: 0, rows: 0 }
  byStatement.set(what, { times: times + 1, rows: before + rows })
}

/** Counts every statement on this object's storage: of the store, the spaces and `agents/lifecycle`. */
function watch(storage: DurableObjectStorage): void {
  const { sql } = storage
  const exec = sql.exec.bind(sql)
  const watched = <T extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: unknown[]
  ): SqlStorageCursor<T> => {
    const cursor = exec<T>(query, ...values)
    // A statement has done its writes when the cursor is made, with RETURNING or without.
    counts.statements += 1
    counts.rows += cursor.rowsWritten
    note(query, cursor.rowsWritten)
    return cursor
  }
  Object.defineProperty(sql, 'exec', { value: watched, configurable: true })
  const setAlarm = storage.setAlarm.bind(storage)
  const counted: typeof setAlarm = (...given) => {
    counts.alarms += 1
    return setAlarm(...given)
  }
  Object.defineProperty(storage, 'setAlarm', { value: counted, configurable: true })
}

/** D1 reports for each statement how many rows it wrote, indexes included, as it bills them. */
function watchDatabase(database: D1Database): void {
  const count = <T extends D1Result>(result: T): T => {
    counts.d1Rows += result.meta.rows_written
    return result
  }
  const of = (value: object): object => Object.getPrototypeOf(value) as object
  const wrap = (owner: object, name: string, around: (result: unknown) => unknown): void => {
    const method = Reflect.get(owner, name) as (...given: unknown[]) => Promise<unknown>
    const wrapped = async function (this: unknown, ...given: unknown[]) {
      return around(await Reflect.apply(method, this, given))
    }
    Object.defineProperty(owner, name, { value: wrapped })
  }
  wrap(of(database), 'batch', (results) => (results as D1Result[]).map(count))
  const statement = of(database.prepare('SELECT 1'))
  for (const name of ['run', 'all']) wrap(statement, name, (result) => count(result as D1Result))
}
watchDatabase(bindings.DB)

const loaded = new Set<string>()

export class Session extends ProductSession {
  constructor(context: DurableObjectState, env: Env) {
    watch(context.storage)
    loaded.add(context.id.toString())
    super(context, env)
  }
  /** As if its alarm had come: the first time after a month at rest. */
  async ring(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now())
  }
}
export class Principal extends ProductPrincipal {
  constructor(context: DurableObjectState, env: Env) {
    watch(context.storage)
    super(context, env)
  }
}
export class Catalog extends ProductCatalog {
  constructor(context: DurableObjectState, env: Env) {
    watch(context.storage)
    super(context, env)
  }
}

export { McpServer, PluginRunner, PluginService }

export default {
  async fetch(request, env, context) {
    const { pathname } = new URL(request.url)
    if (pathname === '/__bench/counts')
      return Response.json({ ...counts, byStatement: Object.fromEntries(byStatement) })
    if (pathname !== '/__bench/ring') return app.fetch(request, env, context)
    const objects = env.SESSION as unknown as DurableObjectNamespace<Session>
    const stubs = [...loaded].map((id) => objects.get(objects.idFromString(id)))
    await Promise.all(stubs.map((stub) => stub.ring()))
    return Response.json({ rung: stubs.length })
  },
} satisfies ExportedHandler<Env>
