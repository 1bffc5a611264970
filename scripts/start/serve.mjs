// The process behind the front of `npm start`: builds the Worker, serves it, and builds it again when its source
// changes. Its settings come as one message: a process list would show arguments to every user of the machine.
import { once } from 'node:events'
import { readFileSync, watch } from 'node:fs'
import { join } from 'node:path'
import { root } from '../toolchain.mjs'
import { readConfig } from '../wrangler-config.mjs'
import { buildWorker } from './build.mjs'
import { openRuntime } from './runtime.mjs'

// When the parent is gone, however it went, so is the process group (workerd, esbuild). A killed -9 parent cannot say
// goodbye.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))

/** So long has an editor to write all of its files. */
const settleMs = 300

const [{ folder, statePath, vars, isLogged }] = await once(process, 'message')
process.channel.unref()
const settings = await readConfig(join(root, 'wrangler.toml'))

/** As `wrangler dev` has the bindings of wrangler.toml. Workers AI is left out: nothing asks it in development. */
function workerOf(built) {
  const { name } = settings
  const text = Object.entries({ ...settings.vars, ...vars })
  const named = (bindings, toBinding) =>
    Object.fromEntries(bindings.map((one) => [one.binding ?? one.name, toBinding(one)]))
  return {
    config: {
      name,
      type: 'worker',
      compatibilityDate: settings.compatibility_date,
      compatibilityFlags: settings.compatibility_flags,
      manifest: {
        mainModule: 'index.js',
        modulesRoot: built,
        modules: {
          'index.js': { type: 'esm', contents: readFileSync(join(built, 'index.js'), 'utf8') },
        },
      },
      assets: {
        directory: settings.assets.directory,
        htmlHandling: settings.assets.html_handling,
        runWorkerFirst: true,
        hasUserWorker: true,
      },
      env: {
        ...Object.fromEntries(text.map(([key, value]) => [key, { type: 'text', value }])),
        [settings.assets.binding]: { type: 'assets' },
        ...named(settings.d1_databases, ({ binding }) => ({ type: 'd1', id: binding })),
        ...named(settings.kv_namespaces, ({ binding }) => ({ type: 'kv', id: binding })),
        ...named(settings.ratelimits, ({ namespace_id: namespace, simple }) => ({
          type: 'rate-limit',
          namespace,
          simple,
        })),
        ...named(settings.worker_loaders, () => ({ type: 'worker-loader' })),
        ...named(settings.durable_objects.bindings, ({ class_name: exportName }) => ({
          type: 'durable-object',
          workerName: name,
          exportName,
        })),
      },
      exports: Object.fromEntries(
        settings.migrations
          .flatMap(({ new_sqlite_classes: classes = [] }) => classes)
          .map((className) => [className, { type: 'durable-object', storage: 'sqlite' }]),
      ),
    },
  }
}

function onLog({ level, message }) {
  if (level === 'error' || level === 'warn') console.error(message)
  else if (isLogged) console.log(message)
}

let built = await buildWorker().catch((error) => {
  console.error(error.message)
  process.exit(1)
})
const runtime = await openRuntime({ folder, statePath, worker: workerOf(built), onLog })

async function buildAgain() {
  const next = await buildWorker()
  if (next === built) return
  await runtime.update(workerOf(next))
  built = next
  console.log('The source has changed: the new Worker answers.')
}

let building = Promise.resolve()
let timer
function onChange() {
  clearTimeout(timer)
  timer = setTimeout(() => {
    building = building
      .then(buildAgain)
      .catch((error) => console.error(`${error.message}\nThe Worker of before goes on.`))
  }, settleMs)
}
for (const name of ['src', 'plugins', 'assets']) {
  try {
    watch(join(root, name), { recursive: true }, onChange)
  } catch (error) {
    console.error(`Changes in ${name} are not seen until the next start: ${error.message}`)
  }
}
