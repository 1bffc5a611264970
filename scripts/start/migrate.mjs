// node scripts/start/migrate.mjs <folder of local data>
//
// Applies what is new in migrations/ to the local database, as `wrangler d1 migrations apply --local` does and into the
// same table. That command starts a workerd for each file, which is most of a first start; this starts one for all.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root, toolFile } from '../toolchain.mjs'

const wrangler = pathToFileURL(toolFile('wrangler', 'wrangler-dist', 'cli.js')).href
const { getPlatformProxy } = await import(wrangler)
const table = `CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

const { env, dispose } = await getPlatformProxy({
  configPath: join(root, 'wrangler.toml'),
  envFiles: [],
  persist: { path: join(resolve(root, process.argv[2]), 'v3') },
  remoteBindings: false,
})
try {
  const database = env.DB
  await database.prepare(table).run()
  const { results } = await database.prepare('SELECT name FROM d1_migrations').all()
  const applied = new Set(results.map(({ name }) => name))
  const folder = join(root, 'migrations')
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql') && !applied.has(name))
  for (const file of files.toSorted()) {
    const sql = readFileSync(join(folder, file), 'utf8').replace(/^\s*--.*$/gm, '')
    const statements = sql.split(/;\s*$/m).filter((statement) => statement.trim() !== '')
    const done = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(file)
    await database.batch([...statements.map((statement) => database.prepare(statement)), done])
  }
} finally {
  await dispose()
}
