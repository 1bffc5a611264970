// The Worker under test in a workerd of its own, whose data outlives it: kill it, start it again over the same folder.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readConfig } from '../../../scripts/wrangler-config.mjs'
import { root } from './build.mjs'

const load = (...path) => import(pathToFileURL(join(root, 'node_modules', ...path)).href)
const { Miniflare, Log, LogLevel } = await load('miniflare', 'dist', 'src', 'index.js')

export const operatorKey = 'isk_faults_operator_key'
const workerName = 'isola-faults'
const marker = '@@faults '

/**
 * @param options.text What `buildWorker` made.
 * @param options.stateDir Everything it keeps; the same one is the same deployment.
 * @param options.onLine Called with the words of each line that the Worker tells the harness.
 * @param options.onDeath Called when the process died without us, and Miniflare has started another one.
 * @param options.memory What the Worker is to know from its first moment on (worker.ts).
 */
export async function startServer({
  text,
  product = root,
  stateDir,
  upstream,
  collector,
  onLine,
  onDeath,
  recoverEveryMs,
  memory = { arms: [], trees: {} },
}) {
  const settings = await readConfig(join(product, 'wrangler.toml'))
  const before = new Set(childProcesses())
  const output = []
  const miniflare = new Miniflare({
    host: '127.0.0.1',
    port: 0,
    log: new Log(LogLevel.NONE),
    cf: false,
    telemetry: { enabled: false },
    resourcePersistencePath: stateDir,
    unsafeHandleRuntimeRestart: onDeath,
    handleStructuredLogs({ message }) {
      for (const line of String(message).split('\n')) {
        if (line.startsWith(marker)) onLine(line.slice(marker.length).split(' '))
        else keep(output, line)
      }
    },
    workers: [
      {
        config: {
          name: workerName,
          type: 'worker',
          compatibilityDate: settings.compatibility_date,
          compatibilityFlags: [...settings.compatibility_flags, 'unsafe_module'],
          manifest: {
            mainModule: 'worker.js',
            modulesRoot: stateDir,
            modules: { 'worker.js': { type: 'esm', contents: text } },
          },
          env: bindingsOf(settings, { upstream, collector, memory, recoverEveryMs }),
          exports: Object.fromEntries(
            settings.migrations
              .flatMap((migration) => migration.new_sqlite_classes ?? [])
              .map((className) => [className, { type: 'durable-object', storage: 'sqlite' }]),
          ),
        },
        dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }], stripCfConnectingIp: false },
      },
    ],
  })
  await miniflare.ready
  const url = (await miniflare.unsafeGetDirectURL(workerName)).origin
  return {
    url,
    miniflare,
    output,
    settings,
    /** A power cut. Miniflare is told first, so that it does not start workerd again by itself. */
    async kill() {
      for (const pid of childProcesses()) if (!before.has(pid)) killNow(pid)
      await miniflare.dispose().catch(() => {})
    },
    stop: () => miniflare.dispose(),
  }
}

const maxKeptLines = 400
function keep(output, line) {
  output.push(line)
  if (output.length > maxKeptLines) output.shift()
}

function bindingsOf(settings, { upstream, collector, memory, recoverEveryMs }) {
  const text = (value) => ({ type: 'text', value })
  const named = (type, bindings = []) =>
    bindings.map(({ binding }) => [binding, { type, id: `faults-${binding}` }])
  return {
    ISOLA_ENV: text('development'),
    ISOLA_OPERATOR_KEY: text(operatorKey),
    ISOLA_MASTER_KEY: text('AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='),
    ISOLA_MODEL: text('openai/scripted'),
    // Far away, so that it stops nothing: the day's ledger is asked only where there is a limit.
    ISOLA_DAILY_TOKENS: text('1000000000000'),
    OPENAI_API_KEY: text('sk-faults'),
    ISOLA_PROVIDERS: text(JSON.stringify([providerAt(upstream)])),
    OTEL_EXPORTER_OTLP_ENDPOINT: text(collector),
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: text('true'),
    // A grant of this machine is of one port.
    FAULTS_EFFECTS_HOST: text(new URL(collector).host),
    FAULTS_RECOVER_EVERY_MS: text(String(recoverEveryMs)),
    FAULTS_MEMORY: text(JSON.stringify(memory)),
    ...Object.fromEntries(named('d1', settings.d1_databases)),
    ...Object.fromEntries(named('kv', settings.kv_namespaces)),
    ...Object.fromEntries(
      settings.durable_objects.bindings.map((binding) => [
        binding.name,
        { type: 'durable-object', workerName, exportName: binding.class_name },
      ]),
    ),
  }
}

/** Its window is small, so that a few long messages fill it. */
const providerAt = (upstream) => ({
  id: 'openai',
  base_url: upstream,
  api_key_secret_name: 'OPENAI_API_KEY',
  models: [{ name: 'scripted', context_tokens: 16_000 }],
})

/** As `wrangler d1 migrations apply`. */
export async function migrate({ miniflare, settings }, product = root) {
  const [database] = settings.d1_databases
  const folder = join(product, database.migrations_dir ?? 'migrations')
  const statements = [
    'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)',
  ]
  for (const file of readdirSync(folder).toSorted()) {
    if (!file.endsWith('.sql')) continue
    const sql = readFileSync(join(folder, file), 'utf8').replace(/^\s*--.*$/gm, '')
    statements.push(...sql.split(/;\s*$/m).filter((statement) => statement.trim() !== ''))
    statements.push(`INSERT INTO d1_migrations (name) VALUES ('${file}')`)
  }
  const bound = await miniflare.getD1Database(database.binding)
  await bound.batch(statements.map((statement) => bound.prepare(statement)))
}

/** Ids of our own child processes. */
function childProcesses() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === process.pid)
}

function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined // ended meanwhile
  }
}

function killNow(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // ended meanwhile
  }
}
