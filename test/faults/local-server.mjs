// The built Worker in a workerd of its own over a folder, to be killed and started again: bench/serve.mjs with
// restarts. Used by kills.mjs and retries.mjs.
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, wranglerConfig } from '../../bench/serve.mjs'
import { readConfig } from '../../scripts/wrangler-config.mjs'
import { root, toolFile } from '../../scripts/toolchain.mjs'

// By path, as all tools are.
const load = (...path) => import(pathToFileURL(toolFile(...path)).href)
const { Miniflare, Log, LogLevel } = await load('miniflare', 'dist', 'src', 'index.js')

export const operatorKey = 'isk_faults'

/** The policy of a load that calls the http tools at this address, without a person to ask. */
export const policyFor = (url) => ({
  policy: {
    // Its pages are strangers' text, and each call after the first would be asked about.
    labels: [],
    allow_destructive: ['kv__*', 'files__*', 'memory__*', 'http__*'],
    network: { hosts: [new URL(url).host] },
  },
})
const settings = await readConfig(wranglerConfig)

/** @returns the folder with the modules that `wrangler deploy` would upload. */
export const buildWorker = (outDir, entry = join(root, 'src', 'index.ts')) =>
  build({ entry, config: wranglerConfig, outDir })

/**
 * Serves a built Worker over `stateDir`; without one nothing is kept.
 * @returns its URL, the pid of its workerd, `kill()` (SIGKILL by that pid) and `close()`.
 */
export const startServer = (options) =>
  openServer(options).catch((error) => {
    // On a machine with much else to do, Miniflare's own first request to a new process is refused now and then.
    if (error.message === 'fetch failed') return openServer(options)
    throw error
  })

async function openServer({ folder, stateDir, vars = {} }) {
  const before = new Set(workerds())
  const miniflare = new Miniflare(optionsOf({ folder, stateDir, vars }))
  try {
    await miniflare.ready
    const [database] = settings.d1_databases
    if (database) await migrate(await miniflare.getD1Database(database.binding), database)
    const { origin: url } = await miniflare.unsafeGetDirectURL(settings.name)
    const pids = workerds().filter((pid) => !before.has(pid))
    if (pids.length !== 1) throw new Error(`expected one new workerd, found ${pids.join(' ')}`)
    const [pid] = pids
    return {
      url,
      pid,
      isAlive: () => workerds().includes(pid),
      async kill() {
        process.kill(pid, 'SIGKILL')
        // In the same go: Miniflare would put a new process in the place of one that died.
        await miniflare.dispose().catch(() => {})
        if (workerds().includes(pid)) throw new Error(`workerd ${pid} outlived SIGKILL`)
      },
      close: () => miniflare.dispose(),
    }
  } catch (error) {
    await miniflare.dispose().catch(() => {})
    throw error
  }
}

function optionsOf({ folder, stateDir, vars }) {
  const { name } = settings
  const named = (type, bindings) =>
    bindings.map(({ binding }) => [binding, { type, id: `faults-${binding}` }])
  const env = {
    ISOLA_OPERATOR_KEY: operatorKey,
    ISOLA_MASTER_KEY: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    ISOLA_ENV: 'development', // loopback egress
    ...vars,
  }
  return {
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.ERROR),
    handleStructuredLogs: () => {}, // what a load provokes is in its report
    cf: false,
    telemetry: { enabled: false },
    ...(stateDir !== undefined && { resourcePersistencePath: stateDir }),
    workers: [
      {
        config: {
          name,
          type: 'worker',
          compatibilityDate: settings.compatibility_date,
          compatibilityFlags: settings.compatibility_flags,
          manifest: manifestOf(folder),
          env: {
            ...Object.fromEntries(
              Object.entries(env).map(([key, value]) => [key, { type: 'text', value }]),
            ),
            ...Object.fromEntries(named('d1', settings.d1_databases)),
            ...Object.fromEntries(named('kv', settings.kv_namespaces)),
            ...Object.fromEntries(
              settings.durable_objects.bindings.map((binding) => [
                binding.name,
                { type: 'durable-object', workerName: name, exportName: binding.class_name },
              ]),
            ),
          },
          exports: Object.fromEntries(
            settings.migrations
              .flatMap((migration) => migration.new_sqlite_classes ?? [])
              .map((className) => [className, { type: 'durable-object', storage: 'sqlite' }]),
          ),
        },
        // Past the entry Worker that Miniflare puts in front: it is no part of a deployment.
        dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }], stripCfConnectingIp: false },
      },
    ],
  }
}

function manifestOf(folder) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
  if (files.length !== 1) throw new Error(`expected one module in ${folder}: ${files.join(' ')}`)
  const [name] = files
  const contents = readFileSync(join(folder, name), 'utf8')
  return { mainModule: name, modulesRoot: folder, modules: { [name]: { type: 'esm', contents } } }
}

/** What `wrangler d1 migrations apply` does: each new file, then its name into wrangler's own table. */
async function migrate(database, { migrations_dir: dir = 'migrations' }) {
  const table = 'd1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)'
  await database.prepare(`CREATE TABLE IF NOT EXISTS ${table}`).run()
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all()
  const applied = new Set(results.map(({ name }) => name))
  const folder = join(dirname(wranglerConfig), dir)
  for (const file of readdirSync(folder).toSorted()) {
    if (!file.endsWith('.sql') || applied.has(file)) continue
    const sql = readFileSync(join(folder, file), 'utf8').replace(/^\s*--.*$/gm, '')
    const statements = sql.split(/;\s*$/m).filter((statement) => statement.trim() !== '')
    statements.push(`INSERT INTO d1_migrations (name) VALUES ('${file}')`)
    await database.batch(statements.map((statement) => database.prepare(statement)))
  }
}

/** Our own children that are a workerd and alive. */
function workerds() {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const end = stat.lastIndexOf(')')
      const [state, parent] = stat.slice(end + 2).split(' ')
      const isOurs = stat.slice(stat.indexOf('(') + 1, end) === 'workerd'
      return isOurs && state !== 'Z' && Number(parent) === process.pid ? [Number(name)] : []
    } catch {
      return [] // ended meanwhile
    }
  })
}

/** The value of `--name value` or `--name=value` as a number. */
export function numberOption(name, fallback) {
  const at = process.argv.findIndex((text) => text === `--${name}` || text.startsWith(`--${name}=`))
  if (at < 0) return fallback
  const value = Number(process.argv[at].split('=')[1] ?? process.argv[at + 1])
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new Error(`--${name} must be a whole number`)
}

/** mulberry32 with the picks that a load needs. */
export function createRandom(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (low, high) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (list) => list[int(0, list.length - 1)],
    /** One of `[[weight, value], …]`. */
    weighted(choices) {
      let at = next() * choices.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, value] of choices) if ((at -= weight) < 0) return value
      return choices.at(-1)[1]
    },
    shuffled(list) {
      const copy = [...list]
      for (let left = copy.length; left > 1; left -= 1) {
        const other = int(0, left - 1)
        ;[copy[left - 1], copy[other]] = [copy[other], copy[left - 1]]
      }
      return copy
    },
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
