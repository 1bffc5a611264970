import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Log, LogLevel, Miniflare, type MiniflareOptions } from 'miniflare'
import { readConfig, type WranglerSettings } from '../../scripts/wrangler-config.mjs'
import { build, manifestOf, migrate } from '../serve.mjs'
import type { CallRecord, Distances } from './record.ts'

/** The name of the front Worker, which is a place as well. */
const front = 'worker'
/** Classes with an isolate of their own. No cell calls another class, so the front Worker serves the others. */
const apart = ['Session', 'Catalog', 'Principal']

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
  /** Every object leaves memory, as an idle one does. */
  readonly dropObjects: () => Promise<void>
  /** The clocks of all isolates go on by so much. */
  readonly later: (ms: number) => Promise<unknown>
  /** May be called again. */
  readonly close: () => Promise<void>
}

export interface FarOptions {
  /** The checkout that was built. */
  readonly checkout: string
  readonly folder: string
  readonly stateDir: string
  readonly vars: Readonly<Record<string, string>>
  readonly distances: Distances
}

/** Serves the Worker with its objects in isolates of their own. The database has its tables already. */
export async function serveApart(options: FarOptions): Promise<FarServer> {
  const settings = await readConfig(join(options.checkout, 'wrangler.toml'))
  const places = [front, ...apart]
  const miniflare = await start(options, settings, places)
  try {
    const urls = await Promise.all(
      places.map(async (place) => (await miniflare.unsafeGetDirectURL(workerName(place))).origin),
    )
    const dropObjects = async () => {
      for (const name of apart) await evictAll(miniflare, name)
    }
    // The first time holds up this process for long, so it comes before any message.
    await dropObjects()
    let closed: Promise<void> | undefined
    const askAll = (path: string) =>
      Promise.all(urls.map(async (url) => (await fetch(`${url}${path}`)).json()))
    return {
      url: urls[0]!,
      async calls() {
        const calls = ((await askAll('/__distance/calls')) as CallRecord[][]).flat()
        const other = calls.find(({ to }) => to !== undefined && !places.includes(to))
        if (other) throw new Error(`${other.name}: this class needs an isolate of its own`)
        return calls
      },
      dropObjects,
      later: (ms) => askAll(`/__distance/later?ms=${ms}`),
      close: () => (closed ??= miniflare.dispose()),
    }
  } catch (error) {
    await miniflare.dispose()
    throw error
  }
}

/** Serves the Worker as one isolate, over the same state as `serveApart`, and makes the tables of the database. */
export async function serveTogether(
  options: FarOptions,
): Promise<Pick<FarServer, 'url' | 'close'>> {
  const config = join(options.checkout, 'wrangler.toml')
  const settings = await readConfig(config)
  const miniflare = await start(options, settings, [front])
  try {
    for (const database of settings.d1_databases)
      await migrate(await miniflare.getD1Database(database.binding), database, config)
    const url = (await miniflare.unsafeGetDirectURL(workerName(front))).origin
    return { url, close: () => miniflare.dispose() }
  } catch (error) {
    await miniflare.dispose()
    throw error
  }
}

const workerName = (place: string): string => `isola-${place.toLowerCase()}`

/** A class without a place of its own is served by the front Worker. */
async function start(
  { folder, stateDir, vars, distances }: FarOptions,
  settings: WranglerSettings,
  places: readonly string[],
): Promise<Miniflare> {
  const objects = settings.durable_objects.bindings
  const homeOf = (name: string) => (places.includes(name) ? name : front)
  const text = (value: string) => ({ type: 'text', value })
  const named = (type: string, bindings: readonly { readonly binding: string }[]) =>
    bindings.map(({ binding }) => [binding, { type, id: `bench-${binding}` }])
  const env = Object.fromEntries([
    ...Object.entries(vars).map(([name, value]) => [name, text(value)]),
    ['DISTANCES', text(JSON.stringify(distances))],
    ...named('d1', settings.d1_databases),
    ...named('kv', settings.kv_namespaces),
    ...settings.worker_loaders.map(({ binding }) => [binding, { type: 'worker-loader' }]),
    ...objects.map(({ name, class_name: exportName }) => [
      name,
      { type: 'durable-object', workerName: workerName(homeOf(exportName)), exportName },
    ]),
  ])
  const manifest = manifestOf(folder)
  const workers = places.map((place) => ({
    config: {
      name: workerName(place),
      type: 'worker',
      compatibilityDate: settings.compatibility_date,
      compatibilityFlags: settings.compatibility_flags,
      manifest,
      env: { ...env, PLACE: text(place) },
      exports: Object.fromEntries(
        objects
          .map((object) => object.class_name)
          .filter((name) => homeOf(name) === place)
          // The same state whichever Worker has the class.
          .map((name) => [
            name,
            { type: 'durable-object', storage: 'sqlite', unsafeUniqueKey: name },
          ]),
      ),
    },
    // Past the entry Worker that Miniflare puts in front: it is no part of a deployment.
    dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }], stripCfConnectingIp: false },
  }))
  const options = {
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.ERROR),
    cf: false,
    telemetry: { enabled: false },
    resourcePersistencePath: stateDir,
    workers,
  }
  // Its types know none of the bindings by their general names.
  const miniflare = new Miniflare(options as unknown as MiniflareOptions)
  await miniflare.ready
  return miniflare
}

/** Objects leave memory as idle ones do, with their state. */
async function evictAll(miniflare: Miniflare, className: string): Promise<void> {
  const script = workerName(className)
  for (const id of await miniflare.listDurableObjectIds(className, script))
    await miniflare.unsafeEvictDurableObject(script, className, { id }).catch((error: unknown) => {
      if (!String(error).includes('not currently running')) throw error
    })
}
