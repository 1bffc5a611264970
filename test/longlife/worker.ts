// The product with counters around what sessions read and write and when they ask to be woken, and without the waits
// of a deployment, for longlife.mjs only. Nothing of this is in a deployment.
import { env as bindings } from 'cloudflare:workers'
import { createCatalogClass } from '../../src/catalog/catalog-object.ts'
import { composeRuntime } from '../../src/composition.ts'
import { defaultTiming } from '../../src/contracts/runtime.ts'
import { createPrincipalClass } from '../../src/governance/principal-object.ts'
import { createHttpApp } from '../../src/http/app.ts'
import { createMcpServerClass } from '../../src/mcp/mcp-object.ts'
import { createPluginServiceClass } from '../../src/plugins/plugin-service.ts'
import { createSessionClass } from '../../src/sessions/session-object.ts'
import { systemSources } from '../../src/sources.ts'

const runtime = composeRuntime(bindings, systemSources, { ...defaultTiming, recoverEveryMs: 1_000 })
const app = createHttpApp(runtime.http)

const counts = { rowsRead: 0, rowsWritten: 0, statements: 0 }
/** When each object that asked to be woken is to be, epoch milliseconds. */
const alarms = new Map<string, number>()

function watch(id: string, storage: DurableObjectStorage): void {
  const { sql } = storage
  const exec = sql.exec.bind(sql)
  const watched = (query: string, ...values: SqlStorageValue[]) => {
    const cursor = exec(query, ...values)
    // What was read is known when all of it was.
    const rows = cursor.toArray()
    const { rowsRead, rowsWritten } = cursor
    counts.statements += 1
    counts.rowsRead += rowsRead
    counts.rowsWritten += rowsWritten
    return { toArray: () => rows, [Symbol.iterator]: () => rows.values(), rowsRead, rowsWritten }
  }
  Object.defineProperty(sql, 'exec', { value: watched })
  const setAlarm = storage.setAlarm.bind(storage)
  const noted: typeof setAlarm = (time, options) => {
    alarms.set(id, Number(time))
    return setAlarm(time, options)
  }
  Object.defineProperty(storage, 'setAlarm', { value: noted })
  const deleteAll = storage.deleteAll.bind(storage)
  const emptied: typeof deleteAll = (options) => {
    alarms.delete(id)
    return deleteAll(options)
  }
  Object.defineProperty(storage, 'deleteAll', { value: emptied })
  const deleteAlarm = storage.deleteAlarm.bind(storage)
  const forgotten: typeof deleteAlarm = (options) => {
    alarms.delete(id)
    return deleteAlarm(options)
  }
  Object.defineProperty(storage, 'deleteAlarm', { value: forgotten })
}

export class Session extends createSessionClass(() => runtime.session) {
  constructor(context: DurableObjectState, env: Env) {
    watch(context.id.toString(), context.storage)
    super(context, env)
  }
}
export class Principal extends createPrincipalClass(() => runtime.principal) {}
export class Catalog extends createCatalogClass(() => runtime.catalog) {}
export class McpServer extends createMcpServerClass(() => runtime.mcpServer) {}
export class PluginService extends createPluginServiceClass(() => runtime.pluginService) {}

export default {
  fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== '/__longlife/counts') return app.fetch(request, env, context)
    const before = Number(searchParams.get('before') ?? 0)
    const times = [...alarms.values()]
    const due = times.filter((time) => time < before).length
    return Response.json({ ...counts, alarms: times.length, due })
  },
} satisfies ExportedHandler<Env>
