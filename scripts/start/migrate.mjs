// node scripts/start/migrate.mjs <folder of local data>
//
// Applies what is new in migrations/ to the local database, as `wrangler d1 migrations apply --local` does and into the
// same table. That command starts a workerd for each file, which is most of a first start; this starts one for all.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { root } from '../toolchain.mjs'
import { readConfig } from '../wrangler-config.mjs'
import { openRuntime } from './runtime.mjs'
import { makeSocketFolder, socketsIn } from './sockets.mjs'

/** Applies files, each as one batch with its name, and says which it found applied. */
const contents = `
const table = \`CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)\`
export default {
  async fetch(request, { DB }) {
    const files = await request.json()
    await DB.prepare(table).run()
    const { results } = await DB.prepare('SELECT name FROM d1_migrations').all()
    const applied = new Set(results.map(({ name }) => name))
    for (const { name, statements } of files.filter((file) => !applied.has(file.name))) {
      const done = DB.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
      await DB.batch([...statements.map((statement) => DB.prepare(statement)), done])
    }
    return new Response()
  },
}`

const folder = join(root, 'migrations')
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.sql'))
  .toSorted()
  .map((name) => {
    const sql = readFileSync(join(folder, name), 'utf8').replace(/^\s*--.*$/gm, '')
    return { name, statements: sql.split(/;\s*$/m).filter((one) => one.trim() !== '') }
  })
const settings = await readConfig(join(root, 'wrangler.toml'))
const sockets = makeSocketFolder()
const runtime = await openRuntime({
  folder: sockets,
  statePath: resolve(root, process.argv[2]),
  onLog: ({ message }) => console.error(message),
  worker: {
    config: {
      name: 'migrate',
      type: 'worker',
      compatibilityDate: settings.compatibility_date,
      manifest: {
        mainModule: 'index.js',
        // Only a name: everything is in memory.
        modulesRoot: '/',
        modules: { 'index.js': { type: 'esm', contents } },
      },
      env: { DB: { type: 'd1', id: settings.d1_databases[0].binding } },
    },
  },
})
try {
  const status = await post(socketsIn(sockets).worker, JSON.stringify(files))
  // Why is logged by the Worker.
  if (status !== 200) process.exitCode = 1
} finally {
  await runtime.close()
  rmSync(sockets, { recursive: true, force: true })
}

function post(socketPath, body) {
  return new Promise((done, fail) => {
    const asked = request(
      { socketPath, method: 'POST', headers: { host: 'localhost' } },
      (answer) => {
        answer.resume().once('end', () => done(answer.statusCode))
      },
    )
    asked.once('error', fail)
    asked.end(body)
  })
}
