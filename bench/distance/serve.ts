import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Log, LogLevel, Miniflare, type MiniflareOptions } from 'miniflare'
import { readConfig } from '../../scripts/wrangler-config.mjs'
import { build, manifestOf, migrate } from '../serve.mjs'
import type { CallRecord, Distances } from './record.ts'

/** The name of the front Worker, which is a place as well. */
const front = 'worker'

/** Builds the Worker of a checkout with `far.ts` before it. @returns the folder of the built module. */
export async function buildFar(checkout: string, outDir: string): Promise<string> {
  const config = join(checkout, 'wrangler.toml')
  const entry = join(outDir, '..', 'far-worker.ts')
  const worker = readFileSync(join(import.meta.dirname, 'worker.ts'), 'utf8')
    .replaceAll('../../src/', `${checkout}/src/`)
    .replaceAll('./far.ts', join(import.meta.dirname, 'far.ts'))
  writeFileSync(entry, worker)
  return (await build({ entry, config, outDir })).folder
}

export interface FarServer {
  /** Where clients send their requests. */
  readonly url: string
  /** Every call that any isolate made so far. */
  readonly calls: () => Promise<readonly CallRecord[]>
  /** As if nothing had been asked for so long: idle objects leave memory, and clocks go on. */
  readonly rest: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

export interface FarOptions {
  /** Of the checkout that was built. */
  readonly checkout: string
  readonly folder: string
  readonly stateDir: string
  readonly vars: Readonly<Record<string, string>>
  readonly distances: Distances
  readonly isMigrated: boolean
}

/** Serves the Worker with each class of objects in an isolate of its own. */
export async function serveFar(options: FarOptions): Promise<FarServer> {
  const { checkout, folder, stateDir, isMigrated } = options
  const config = join(checkout, 'wrangler.toml')
  const settings = await readConfig(config)
  const objects = settings.durable_objects.bindings
  const places = [front, ...objects.map((object) => object.class_name)]
  const nameOf = (place: string) => `isola-${place.toLowerCase()}`
  const text = (value: string) => ({ type: 'text' as const, value })
  const named = (type: 'd1' | 'kv', bindings: readonly { readonly binding: string }[]) =>
    Object.fromEntries(bindings.map(({ binding }) => [binding, { type, id: `bench-${binding}` }]))
  const vars = { ...options.vars, DISTANCES: JSON.stringify(options.distances) }
  const workerOf = (place: string) => ({
    config: {
      name: nameOf(place),
      type: 'worker',
      compatibilityDate: settings.compatibility_date,
      compatibilityFlags: settings.compatibility_flags,
      manifest: manifestOf(folder),
      env: {
        ...Object.fromEntries(Object.entries(vars).map(([key, value]) => [key, text(value)])),
        PLACE: text(place),
        ...named('d1', settings.d1_databases),
        ...named('kv', settings.kv_namespaces),
        ...Object.fromEntries(
          settings.worker_loaders.map(({ binding }) => [binding, { type: 'worker-loader' }]),
        ),
        ...Object.fromEntries(
          objects.map(({ name, class_name: exportName }) => [
            name,
            { type: 'durable-object', workerName: nameOf(exportName), exportName },
          ]),
        ),
      },
      exports:
        place === front ? {} : { [place]: { type: 'durable-object' as const, storage: 'sqlite' } },
    },
    // Past the entry Worker that Miniflare puts in front: it is no part of a deployment.
    dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }], stripCfConnectingIp: false },
  })
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.ERROR),
    cf: false,
    telemetry: { enabled: false },
    resourcePersistencePath: stateDir,
    workers: places.map(workerOf),
  } as unknown as MiniflareOptions)
  try {
    await miniflare.ready
    const [database] = settings.d1_databases
    if (database && !isMigrated)
      await migrate(
        await miniflare.getD1Database(database.binding, nameOf(front)),
        database,
        config,
      )
    const urls = new Map<string, string>()
    for (const place of places)
      urls.set(place, (await miniflare.unsafeGetDirectURL(nameOf(place))).origin)
    const askAll = (path: string) =>
      Promise.all([...urls.values()].map(async (url) => (await fetch(`${url}${path}`)).json()))
    return {
      url: urls.get(front)!,
      calls: async () => ((await askAll('/__distance/calls')) as CallRecord[][]).flat(),
      async rest(ms) {
        for (const { class_name: className } of objects) {
          const script = nameOf(className)
          for (const id of await miniflare.listDurableObjectIds(className, script))
            await miniflare
              .unsafeEvictDurableObject(script, className, { id })
              .catch(unlessNotRunning)
        }
        await askAll(`/__distance/later?ms=${ms}`)
      },
      close: () => miniflare.dispose(),
    }
  } catch (error) {
    await miniflare.dispose()
    throw error
  }
}

function unlessNotRunning(error: unknown): void {
  if (!String(error).includes('not currently running')) throw error
}
