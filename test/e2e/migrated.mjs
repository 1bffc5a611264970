// A local database with every migration, made once for all servers that tests start: most of a first start is that.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { root, toolEnv, toolNode } from '../../scripts/toolchain.mjs'

function pathOfDatabase() {
  const hash = createHash('sha256')
  for (const path of [
    'wrangler.toml',
    'scripts/start/local-server.mjs',
    'scripts/start/migrate.mjs',
  ])
    hash.update(readFileSync(join(root, path)))
  for (const name of readdirSync(join(root, 'migrations')).toSorted())
    hash.update(name).update(readFileSync(join(root, 'migrations', name)))
  const folder = join(root, 'node_modules', '.cache', 'isola', 'migrated')
  return join(folder, hash.digest('hex').slice(0, 16))
}

/** What `npm start` does, in a folder that is given up once there is another: two may make one at the same time. */
function makeDatabase(path) {
  mkdirSync(join(path, '..'), { recursive: true })
  const own = mkdtempSync(`${path}-`)
  const script = "import { migrate } from './scripts/start/local-server.mjs'; await migrate()"
  execFileSync(toolNode(), ['--no-warnings', '--input-type=module', '-e', script], {
    cwd: root,
    env: toolEnv({ ISOLA_STATE: own }),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (!existsSync(path)) renameSync(join(own, 'v3', 'd1'), path)
  rmSync(own, { recursive: true, force: true })
}

/** Puts it into a folder of local data that has none: `npm start` then finds nothing to do. */
export function giveDatabase(state) {
  const folder = join(state, 'v3', 'd1')
  if (existsSync(folder)) return
  const path = pathOfDatabase()
  if (!existsSync(path)) makeDatabase(path)
  cpSync(path, folder, { recursive: true })
}
