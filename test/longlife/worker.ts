// The product with counters around what sessions read and write and when they ask to be woken, for longlife.mjs only.
// Nothing of this is in a deployment.
import { env as bindings } from 'cloudflare:workers'
import { createCatalogClass } from '../../src/runtime/catalog/catalog-object.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { createPrincipalClass } from '../../src/compose/principal-object.ts'
import { createHttpApp } from '../../src/surfaces/http/app.ts'
import { routeTable } from '../../src/routes.gen.ts'
import { createMcpServerClass } from '../../src/features/mcp-servers/mcp-object.ts'
import { createPluginServiceClass } from '../../src/features/plugins/capabilities/storage/plugin-service.ts'
import { createSessionClass } from '../../src/runtime/session/session-object.ts'
import { systemSources } from '../../src/compose/sources.ts'

const runtime = composeRuntime(bindings, systemSources)
const app = createHttpApp(runtime.http, routeTable)

/** `objects`: loaded so far. `most…`: read by one object before it let others have the isolate. */
const counts = {
  rowsRead: 0,
  rowsWritten: 0,
  statements: 0,
  objects: 0,
  mostRowsAtOnce: 0,
  mostCharsAtOnce: 0,
}
/** When each object that asked to be woken is to be, epoch milliseconds. */
const alarms = new Map<string, number>()

/** A stretch of work ends where the object waits for the disk, or has let a timer come. */
function createStretch() {
  let isOver = true
  let rows = 0
  let chars = 0
  return {
    end: () => void (isOver = true),
    read(found: readonly Record<string, SqlStorageValue>[], rowsRead: number) {
      if (isOver) {
        isOver = false
        rows = 0
        chars = 0
        setTimeout(() => (isOver = true), 0)
      }
      rows += rowsRead
      for (const row of found)
        for (const value of Object.values(row)) if (typeof value === 'string') chars += value.length
      counts.mostRowsAtOnce = Math.max(counts.mostRowsAtOnce, rows)
      counts.mostCharsAtOnce = Math.max(counts.mostCharsAtOnce, chars)
    },
  }
}

function watch(id: string, storage: DurableObjectStorage): void {
  counts.objects += 1
  const stretch = createStretch()
  const { sql } = storage
  const exec = sql.exec.bind(sql)
  const watched = (query: string, ...values: SqlStorageValue[]) => {
    const cursor = exec(query, ...values)
    // The figures of a cursor are complete when all of its rows were read.
    const rows = cursor.toArray()
    const { rowsRead, rowsWritten } = cursor
    counts.statements += 1
    counts.rowsRead += rowsRead
    counts.rowsWritten += rowsWritten
    stretch.read(rows, rowsRead)
    return { toArray: () => rows, [Symbol.iterator]: () => rows.values(), rowsRead, rowsWritten }
  }
  Object.defineProperty(sql, 'exec', { value: watched, configurable: true })
  const sync = storage.sync.bind(storage)
  Object.defineProperty(storage, 'sync', { value: () => sync().then(stretch.end) })
  const setAlarm = storage.setAlarm.bind(storage)
  const noted: typeof setAlarm = (time, options) => {
    alarms.set(id, Number(time))
    return setAlarm(time, options)
  }
  Object.defineProperty(storage, 'setAlarm', { value: noted, configurable: true })
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

/** Holds more and more: an isolate whose heap has a limit does not live to answer. */
function hoard(): Response {
  const held: number[][] = []
  const maxMiB = 512
  while (held.length < maxMiB) held.push(Array.from({ length: 131_072 }, () => held.length + 0.5))
  return Response.json({ heldMiB: held.length })
}

export default {
  fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/__longlife/hoard') return hoard()
    if (pathname !== '/__longlife/counts') return app.fetch(request, env, context)
    if (searchParams.has('anew')) counts.mostRowsAtOnce = counts.mostCharsAtOnce = 0
    const before = Number(searchParams.get('before') ?? 0)
    const times = [...alarms.values()]
    const due = times.filter((time) => time < before).length
    return Response.json({ ...counts, alarms: times.length, due })
  },
} satisfies ExportedHandler<Env>
