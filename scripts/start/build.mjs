// The Worker of a local server, built as `wrangler deploy` would build it. The build is cached under the hash of all
// its inputs, so that a start without changes builds nothing.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { root, runNode, tools } from '../toolchain.mjs'

const cache = join(root, 'node_modules', '.cache', 'isola', 'worker')
const inputsFile = join(cache, 'inputs.json')
/** Of what was built before, for those who go back and forth between branches. */
const maxKept = 4

/** @returns the folder with `index.js` and its source map. Throws with what the build says. */
export async function buildWorker() {
  const known = readInputs()
  const kept = known && join(cache, hashOf(known))
  if (kept && existsSync(join(kept, 'index.js'))) {
    const now = new Date()
    utimesSync(kept, now, now)
    return kept
  }
  mkdirSync(cache, { recursive: true })
  const own = mkdtempSync(join(cache, 'building-'))
  try {
    const startedMs = Date.now()
    const args = [tools.wrangler, 'deploy', '--dry-run', '--metafile', '--outdir', own]
    const { code, output } = await runNode(args, { capture: true })
    if (code !== 0) throw new Error(output.trim())
    const meta = JSON.parse(readFileSync(join(own, 'bundle-meta.json'), 'utf8'))
    const inputs = Object.keys(meta.inputs).filter((path) => existsSync(at(path)))
    // A file that was written meanwhile may be in it as it was before.
    const isStale = inputs.some((path) => statSync(at(path)).mtimeMs >= startedMs - 1_000)
    const folder = join(cache, isStale ? `unkept-${process.pid}` : hashOf(inputs))
    rmSync(folder, { recursive: true, force: true })
    renameSync(own, folder)
    writeFileSync(`${inputsFile}.${process.pid}`, JSON.stringify(inputs))
    renameSync(`${inputsFile}.${process.pid}`, inputsFile)
    prune(folder)
    return folder
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

const at = (path) => (isAbsolute(path) ? path : join(root, path))

function readInputs() {
  try {
    return JSON.parse(readFileSync(inputsFile, 'utf8'))
  } catch {
    return undefined
  }
}

/** Of all that a build reads; a file that is gone counts as such. */
function hashOf(inputs) {
  const hash = createHash('sha256')
  for (const path of ['wrangler.toml', 'package-lock.json', 'tsconfig.json', ...inputs]) {
    const bytes = existsSync(at(path)) ? readFileSync(at(path)) : 'none'
    hash.update(`${path}:${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex').slice(0, 32)
}

function prune(newest) {
  const aged = readdirSync(cache, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('building-'))
    .map(({ name }) => join(cache, name))
    .filter((path) => path !== newest)
    .map((path) => ({ path, mtimeMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.mtimeMs - a.mtimeMs)
  for (const { path } of aged.slice(maxKept - 1)) rmSync(path, { recursive: true, force: true })
}
