// The product with a counter around its objects' SQLite, for the benchmark only: what is timed is the product
// as it is deployed, what is counted runs here. Nothing of this is reachable in a deployment.
import app, {
  Catalog,
  McpServer,
  PluginRunner,
  PluginService,
  Principal,
  Session as ProductSession,
} from '../src/index.ts'

const statements = new Map<string, number>()

const count = (what: string, rows: number) => {
  if (rows > 0) statements.set(what, (statements.get(what) ?? 0) + rows)
}

/** Every statement of whoever holds this object's storage: the store, the spaces and `agents/lifecycle`. */
function watch(storage: DurableObjectStorage): void {
  const { sql } = storage
  const exec = sql.exec.bind(sql)
  const watched = <T extends Record<string, SqlStorageValue>>(
    query: string,
    ...values: unknown[]
  ): SqlStorageCursor<T> => {
    const cursor = exec<T>(query, ...values)
    // What writes has written when the cursor is made, RETURNING or not.
    count(query.trim().replace(/\s+/g, ' ').slice(0, 60), cursor.rowsWritten)
    return cursor
  }
  Object.defineProperty(sql, 'exec', { value: watched })
}

export class Session extends ProductSession {
  constructor(context: DurableObjectState, env: Env) {
    watch(context.storage)
    super(context, env)
  }
}

export { Catalog, McpServer, PluginRunner, PluginService, Principal }

export default {
  fetch(request, env, context) {
    if (new URL(request.url).pathname !== '/__bench/rows') return app.fetch(request, env, context)
    const rows = [...statements.values()].reduce((sum, written) => sum + written, 0)
    return Response.json({ rows, statements: Object.fromEntries(statements) })
  },
} satisfies ExportedHandler<Env>
