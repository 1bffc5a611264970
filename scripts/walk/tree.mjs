// A copy of the product in which each function of src/ reports its entry, to be served by its own `npm start`.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { instrument } from './instrument.ts'

/** Paths that the server does not need. */
const left =
  /^(?:\.git|\.wrangler|\.dev\.vars|node_modules|dist|packed|coverage|test|bench|docs\/decisions|[^/]*\.md)$/
const cache = join('.cache', 'isola', 'generated')
const recorder = fileURLToPath(new URL('recorder.mjs', import.meta.url))

/** The Worker's entry: the recorder, then the product, whose own entry has another name meanwhile. */
const entryText = `import { walked } from './walk-recorder.js'
import worker from './walked.ts'
export * from './walked.ts'
export default walked(worker)
`

/**
 * @param base The product: a folder with src/, wrangler.toml and installed packages.
 * @returns The copy, and the functions by number: `fileOf(id)` is the path from src/. `lines` are those of each file.
 */
export function makeTree(base) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'isola-walk-')))
  cpSync(base, folder, {
    recursive: true,
    filter: (path) => !left.test(relative(base, path).split(sep).join('/')),
  })
  linkPackages(join(base, 'node_modules'), join(folder, 'node_modules'))
  const source = join(folder, 'src')
  const starts = []
  const lines = new Map()
  let count = 0
  for (const path of sourcesIn(source)) {
    const text = readFileSync(join(source, path), 'utf8')
    const found = instrument(text, { path, firstId: count })
    writeFileSync(join(source, path), found.text)
    lines.set(path, text.split('\n').length - 1)
    for (let more = 0; more < found.count; more += 1) starts.push(path)
    count += found.count
  }
  renameSync(join(source, 'index.ts'), join(source, 'walked.ts'))
  writeFileSync(join(source, 'index.ts'), entryText)
  cpSync(recorder, join(source, 'walk-recorder.js'))
  return { folder, lines, fileOf: (id) => starts[id] }
}

/** The product's own modules; generated ones are packages or data. */
const sourcesIn = (source) =>
  readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.gen|\.d)\.ts$/.test(entry.name))
    .map((entry) => relative(source, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.includes('.gen/'))
    .toSorted()

/** Each package by a link, so that what the copy caches or installs does not reach the product. */
function linkPackages(from, to) {
  mkdirSync(to)
  for (const name of readdirSync(from))
    if (name !== '.cache') symlinkSync(join(from, name), join(to, name))
  if (existsSync(join(from, cache))) cpSync(join(from, cache), join(to, cache), { recursive: true })
}

/** The bundle that the copy was served as: its source map, and the folder from which that names its sources. */
export function bundleOf(folder) {
  const built = join(folder, 'node_modules', '.cache', 'isola', 'worker')
  const [name] = readdirSync(built).filter((one) => existsSync(join(built, one, 'index.js.map')))
  const file = join(built, name, 'index.js.map')
  return { map: JSON.parse(readFileSync(file, 'utf8')), folder: join(built, basename(name)) }
}
