// Writes src/bundled.gen.ts, the list of plugins/: a Worker has no folder to scan.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'yaml'
import { root } from './toolchain.mjs'

const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0)
const isInside = (folder, path) => path.startsWith(folder + sep)

/** Files of code under a folder, deepest names included, tests left out; sorted. */
function codeFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.test|\.d)\.ts$/.test(entry.name))
    .map((entry) =>
      relative(folder, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    )
    .sort(byName)
}

/** A path of a manifest: relative to the plugin's folder, else to the repository. */
function resolveReference({ base, folder, path, id }) {
  for (const from of [folder, base]) {
    const candidate = resolve(from, path)
    if (!isInside(from, candidate))
      throw new Error(`plugins/${id}/plugin.yaml: ${path} leaves the folder`)
    if (existsSync(candidate)) return candidate
  }
  throw new Error(`plugins/${id}/plugin.yaml: there is no file ${path}`)
}

function loadPlugin(base, id) {
  const folder = join(base, 'plugins', id)
  const manifestBytes = readFileSync(join(folder, 'plugin.yaml'))
  const manifest = parse(manifestBytes.toString('utf8'))
  if (manifest?.id !== id)
    throw new Error(`plugins/${id}/plugin.yaml: id must be the folder's name, ${id}`)

  const files = {}
  for (const path of [manifest.agent?.instructions].filter((value) => typeof value === 'string')) {
    files[path] = readFileSync(resolveReference({ base, folder, path, id }), 'utf8')
  }
  if (manifest.entrypoint) resolveReference({ base: folder, folder, path: manifest.entrypoint, id })

  // Length-prefixed parts, so that no two sets of files hash alike.
  const hash = createHash('sha256')
  const add = (name, bytes) => hash.update(`${name.length}:${name}${bytes.length}:`).update(bytes)
  add('plugin.yaml', manifestBytes)
  for (const path of codeFiles(folder)) add(path, readFileSync(join(folder, path)))
  for (const path of Object.keys(files).sort(byName)) add(path, Buffer.from(files[path]))
  return { id, manifest, files, hash: hash.digest('hex') }
}

const indent = (text, spaces) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`)

/** The module's text for the plugins under `base`; the same folders give the same bytes. */
export function generate(base) {
  const pluginsFolder = join(base, 'plugins')
  const plugins = existsSync(pluginsFolder)
    ? readdirSync(pluginsFolder, { withFileTypes: true })
        .filter(
          (entry) =>
            entry.isDirectory() && existsSync(join(pluginsFolder, entry.name, 'plugin.yaml')),
        )
        .map((entry) => entry.name)
        .sort(byName)
        .map((id) => loadPlugin(base, id))
    : []
  const imports = []
  const items = plugins.map(({ id, manifest, files, hash }, index) => {
    if (manifest.entrypoint) {
      imports.push(
        `import register${index} from ${JSON.stringify(`../plugins/${id}/${manifest.entrypoint}`)}`,
      )
    }
    return [
      '  {',
      `    manifest: ${indent(JSON.stringify(manifest, null, 2), 4)},`,
      `    files: ${indent(JSON.stringify(files, null, 2), 4)},`,
      `    hash: ${JSON.stringify(hash)},`,
      ...(manifest.entrypoint ? [`    register: register${index},`] : []),
      '  },',
    ].join('\n')
  })
  return [
    '// Written by scripts/generate.mjs from plugins/: do not edit.',
    "import type { BundledPlugin } from '#contracts/manifest.ts'",
    ...imports,
    '',
    `export const bundledPlugins: readonly BundledPlugin[] = [${items.length > 0 ? `\n${items.join('\n')}\n` : ''}]`,
    '',
  ].join('\n')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const target = join(root, 'src', 'bundled.gen.ts')
  const text = generate(root)
  // An unchanged file keeps its time, so a running dev server does not rebuild.
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
}
