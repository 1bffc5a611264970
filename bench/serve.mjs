// Builds a Worker the way `wrangler deploy` would and serves it with Miniflare: its own workerd on loopback,
// no wrangler in between.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, runNode, toolFile, tools } from '../scripts/toolchain.mjs'
import { readConfig } from '../scripts/wrangler-config.mjs'

// It comes with wrangler and is none of our own dependencies, hence by path.
const load = (...path) => import(pathToFileURL(toolFile(...path)).href)
const { Miniflare, Log, LogLevel } = await load('miniflare', 'dist', 'src', 'index.js')

export const makeTempDir = (name) => mkdtempSync(join(tmpdir(), `isola-bench-${name}-`))
export const removeTempDir = (path) => rmSync(path, { recursive: true, force: true })

/** `wrangler deploy --dry-run`: the modules that would be uploaded. @returns the folder they are in, and their size. */
export async function build({ entry, config, outDir }) {
  const args = ['deploy', entry, '--config', config, '--dry-run', '--outdir', outDir]
  const { code, output } = await runNode([tools.wrangler, ...args], { capture: true })
  if (code !== 0) throw new Error(`${entry} does not build:\n${output.trim()}`)
  // The size of the upload as wrangler reports it, and compressed.
  const [, kib, gzipKib] = /Total Upload: ([\d.]+) KiB \/ gzip: ([\d.]+) KiB/.exec(output) ?? []
  return { folder: outDir, kib: Number(kib), gzipKib: Number(gzipKib) }
}

/** The one module of a built Worker, as Miniflare takes it. */
export function manifestOf(folder) {
  const files = readdirSync(folder, { withFileTypes: true }).filter(({ name }) =>
    name.endsWith('.js'),
  )
  if (files.length !== 1) throw new Error(`expected one module in ${folder}, found ${files.length}`)
  const [{ name }] = files
  const contents = readFileSync(join(folder, name), 'utf8')
  return { mainModule: name, modulesRoot: folder, modules: { [name]: { type: 'esm', contents } } }
}

/**
 * Serves what `build` made, with the bindings and the compatibility settings of its configuration file and
 * everything it keeps under `stateDir`. `isMigrated`: that folder's database has its tables already.
 */
export async function serve({ folder, config, vars, stateDir, inspectorPort, isMigrated = false }) {
  const settings = await readConfig(config)
  const { name } = settings
  const text = (value) => ({ type: 'text', value })
  const named = (type, bindings) =>
    bindings.map(({ binding }) => [binding, { type, id: `bench-${binding}` }])
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.WARN),
    cf: false,
    telemetry: { enabled: false },
    resourcePersistencePath: stateDir,
    ...(inspectorPort !== undefined && { inspectorPort }),
    workers: [
      {
        config: {
          name,
          type: 'worker',
          compatibilityDate: settings.compatibility_date,
          compatibilityFlags: settings.compatibility_flags,
          manifest: manifestOf(folder),
          env: {
            ...Object.fromEntries(Object.entries(vars).map(([key, value]) => [key, text(value)])),
            ...Object.fromEntries(named('d1', settings.d1_databases)),
            ...Object.fromEntries(named('kv', settings.kv_namespaces)),
            ...Object.fromEntries(
              settings.worker_loaders.map(({ binding }) => [binding, { type: 'worker-loader' }]),
            ),
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
  })
  try {
    await miniflare.ready
    const [database] = settings.d1_databases
    if (database && !isMigrated)
      await migrate(await miniflare.getD1Database(database.binding), database, config)
    const url = await miniflare.unsafeGetDirectURL(name)
    return { url: url.origin, miniflare, close: () => miniflare.dispose() }
  } catch (error) {
    await miniflare.dispose()
    throw error
  }
}

/** What `wrangler d1 migrations apply` does: each file, then its name into wrangler's own table. */
export async function migrate(database, { migrations_dir: dir = 'migrations' }, config) {
  const folder = join(dirname(config), dir)
  const statements = [
    'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)',
  ]
  for (const file of readdirSync(folder).toSorted()) {
    if (!file.endsWith('.sql')) continue
    const sql = readFileSync(join(folder, file), 'utf8').replace(/^\s*--.*$/gm, '')
    statements.push(...sql.split(/;\s*$/m).filter((statement) => statement.trim() !== ''))
    statements.push(`INSERT INTO d1_migrations (name) VALUES ('${file}')`)
  }
  await database.batch(statements.map((statement) => database.prepare(statement)))
}

/** The database files of the Durable Objects: proof that what was measured went to a disk. */
export function objectFiles(stateDir) {
  return readdirSync(stateDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.sqlite'))
    .map((entry) => relative(stateDir, join(entry.parentPath, entry.name)))
    .filter((path) => !/d1|kv|miniflare-/i.test(path.split('/')[0]))
}

export const wranglerConfig = join(root, 'wrangler.toml')
