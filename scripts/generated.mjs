// Files that are made of other files, and not made again while all of them are as they were: a start, a test and the
// command look at them each time. Hashes of both sides are kept beside the installed packages.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { root, toolFile } from './toolchain.mjs'

/** Inputs of every generator: versions of packages, and how their names and ours are resolved. */
const common = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'scripts/generated.mjs',
  // The installed esbuild may be another version than the lock says.
  toolFile('esbuild', 'package.json'),
]

const hashOf = (path) => createHash('sha256').update(readFileSync(path)).digest('hex')
const isSame = (path, text) => existsSync(path) && readFileSync(path, 'utf8') === text

/** Whether no file is gone or another one. */
function fits(recordPath) {
  try {
    const record = Object.entries(JSON.parse(readFileSync(recordPath, 'utf8')))
    return record.length > 0 && record.every(([path, hash]) => hashOf(resolve(root, path)) === hash)
  } catch {
    return false
  }
}

/**
 * @param options.scripts What makes them, from the root.
 * @param options.make Makes them anew: `files` is their text by path, `sources` are the paths of all that was read.
 * @param options.folder Where the hashes are kept.
 * @returns `isCurrent()`, and `update()`, which leaves an unchanged file its time.
 */
export function createGenerated({
  name,
  scripts,
  make,
  folder = join(root, 'node_modules', '.cache', 'isola', 'generated'),
}) {
  const recordPath = join(folder, `${name}.json`)

  function keep({ files, sources }, beganMs) {
    const read = [...common, ...scripts, ...sources].map((path) => resolve(root, path))
    // A file that was written meanwhile may have been read before: record nothing.
    if (read.some((path) => statSync(path).mtimeMs >= beganMs)) return
    const record = Object.fromEntries(
      // From the root: a copy of the folder looks at its own files.
      [...read, ...files.keys()].map((path) => [relative(root, path), hashOf(path)]),
    )
    mkdirSync(folder, { recursive: true })
    // Another process may be reading it.
    writeFileSync(`${recordPath}.${process.pid}`, JSON.stringify(record))
    renameSync(`${recordPath}.${process.pid}`, recordPath)
  }

  /** @returns whether all were as they are to be. */
  function bring({ isWritten }) {
    if (fits(recordPath)) return true
    const beganMs = Date.now()
    const made = make()
    const stale = [...made.files].filter(([path, text]) => !isSame(path, text))
    if (stale.length > 0 && !isWritten) return false
    for (const [path, text] of stale) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    keep(made, beganMs)
    return stale.length === 0
  }

  return {
    isCurrent: () => bring({ isWritten: false }),
    update: () => void bring({ isWritten: true }),
  }
}
