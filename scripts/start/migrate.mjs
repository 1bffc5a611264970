// node scripts/start/migrate.mjs <folder of local data>
//
// Applies what is new in migrations/ to the local database, as `wrangler d1 migrations apply --local` does and into the
// same table. That command starts a workerd for each file, which is most of a first start; this starts one for all.
// A database that a build before the first release made is refused and left as it is.
import { readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { isOfOlderBuild, migrationFiles } from '../first-migration.mjs'
import { root } from '../toolchain.mjs'
import { readConfig } from '../wrangler-config.mjs'
import { openRuntime } from './runtime.mjs'
import { makeSocketFolder, socketsIn } from './sockets.mjs'

/** Says which files are applied or, with POST, applies those that are not, each as one batch with its name. */
const contents = `
const table = \`CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)\`
export default {
  async fetch(request, { DB }) {
    await DB.prepare(table).run()
    const { results } = await DB.prepare('SELECT name FROM d1_migrations').all()
    if (request.method === 'GET') return Response.json(results.map(({ name }) => name))
    const files = await request.json()
    const applied = new Set(results.map(({ name }) => name))
    for (const { name, statements } of files.filter((file) => !applied.has(file.name))) {
      const done = DB.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
      await DB.batch([...statements.map((statement) => DB.prepare(statement)), done])
    }
    return new Response()
  },
}`

const folder = join(root, 'migrations')
const files = migrationFiles().map((name) => {
  const sql = readFileSync(join(folder, name), 'utf8').replace(/^\s*--.*$/gm, '')
  return { name, statements: sql.split(/;\s*$/m).filter((one) => one.trim() !== '') }
})
const statePath = resolve(root, process.argv[2])
const settings = await readConfig(join(root, 'wrangler.toml'))
const sockets = makeSocketFolder()
const runtime = await openRuntime({
  folder: sockets,
  statePath,
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
  const applied = await ask({ method: 'GET' })
  // Why is logged by the Worker.
  if (applied.status !== 200) process.exitCode = 1
  else if (isOfOlderBuild(JSON.parse(applied.text))) {
    console.error(
      `${statePath} was made by a build before the first release of Isola, is not read and was not changed: ` +
        'give this version a folder of its own (ISOLA_STATE=<folder> npm start), or move that one away.',
    )
    process.exitCode = 2
  } else {
    const { status } = await ask({ method: 'POST' }, JSON.stringify(files))
    if (status !== 200) process.exitCode = 1
  }
} finally {
  await runtime.close()
  rmSync(sockets, { recursive: true, force: true })
}

function ask({ method }, body) {
  const { worker: socketPath } = socketsIn(sockets)
  return new Promise((done, fail) => {
    const asked = request({ socketPath, method, headers: { host: 'localhost' } }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk) => (text += chunk))
      answer.once('end', () => done({ status: answer.statusCode, text }))
    })
    asked.once('error', fail)
    asked.end(body)
  })
}
