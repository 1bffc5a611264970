// Writes src/bundled.gen.ts, the list of plugins/ (a Worker has no folder to scan), src/routes.gen.ts,
// src/isolate.gen.ts, src/mcp-core.gen.js, src/trimmed.gen/ (zod among it), and what is uploaded as a file: what
// reads archives and the skills (src/archive-reader.gen.ts and src/skills.gen.ts pin them), and docs/openapi.json.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LineCounter, parseDocument } from 'yaml'
import { archiveReader } from './generate-archive-reader.mjs'
import { isolate } from './generate-isolate.mjs'
import { mcpCore } from './generate-mcp-core.mjs'
import * as routes from './generate-routes.mjs'
import { SkillError, skills } from './generate-skills.mjs'
import { trimmedFiles } from './generate-trimmed.mjs'
import { zodFile } from './generate-zod.mjs'
import { isClone, root } from './toolchain.mjs'

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

/** A fault of a plugin.yaml, in one line with its place. Its author reads the message: no stack. */
class ManifestError extends Error {}

/**
 * Reads a plugin.yaml.
 * @returns The manifest as YAML and as JSON text, and `fault`, which makes the error for the value at a path of keys.
 */
function readManifest(id, bytes) {
  const counter = new LineCounter()
  const document = parseDocument(bytes.toString('utf8'), {
    lineCounter: counter,
    prettyErrors: false,
  })
  const faultAt = (offset, message) => {
    const { line, col } = offset === undefined ? {} : counter.linePos(offset)
    const place = line ? `:${line}:${col}` : ''
    return new ManifestError(
      `plugins/${id}/plugin.yaml${place}: ${message.replace(/\s*[\r\n]\s*/g, ' ')}`,
    )
  }
  const fault = (keys, message) => faultAt(document.getIn(keys, true)?.range?.[0], message)
  const [syntax] = document.errors
  if (syntax) throw faultAt(syntax.pos[0], syntax.message)
  try {
    const manifest = document.toJS()
    return { manifest, json: JSON.stringify(manifest, null, 2), fault }
  } catch (error) {
    // An alias without an anchor, or one that contains itself.
    throw faultAt(undefined, error.message)
  }
}

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** The file that a manifest names: relative to the first of these folders that has it. */
function resolveReference(folders, path, fault) {
  if (typeof path !== 'string') throw fault('must be the path of a file')
  for (const folder of folders) {
    const candidate = resolve(folder, path)
    if (!isInside(folder, candidate)) throw fault(`${path} leaves the folder`)
    if (isFile(candidate)) return candidate
  }
  throw fault(`there is no file ${path}`)
}

function loadPlugin(base, id) {
  const folder = join(base, 'plugins', id)
  const manifestBytes = readFileSync(join(folder, 'plugin.yaml'))
  const { manifest, json, fault } = readManifest(id, manifestBytes)
  if (manifest?.id !== id) throw fault(['id'], `id must be the folder's name, ${id}`)

  const files = {}
  const prompt = manifest.agent?.instructions
  if (typeof prompt === 'string') {
    const problem = (message) => fault(['agent', 'instructions'], message)
    files[prompt] = readFileSync(resolveReference([folder, base], prompt, problem), 'utf8')
  }
  if (manifest.entrypoint) {
    const problem = (message) => fault(['entrypoint'], message)
    resolveReference([folder], manifest.entrypoint, problem)
  }

  // Length-prefixed parts, so that no two sets of files hash alike.
  const hash = createHash('sha256')
  const add = (name, bytes) => hash.update(`${name.length}:${name}${bytes.length}:`).update(bytes)
  add('plugin.yaml', manifestBytes)
  for (const path of codeFiles(folder)) add(path, readFileSync(join(folder, path)))
  for (const path of Object.keys(files).sort(byName)) add(path, Buffer.from(files[path]))
  return { id, manifest, json, files, hash: hash.digest('hex') }
}

const indent = (text, spaces) => text.replaceAll('\n', `\n${' '.repeat(spaces)}`)

/** The module's text for the plugins under `base`; the same folders give the same bytes. */
export function generate(base) {
  const pluginsFolder = join(base, 'plugins')
  const plugins = existsSync(pluginsFolder)
    ? readdirSync(pluginsFolder, { withFileTypes: true })
        .filter(
          (entry) => entry.isDirectory() && isFile(join(pluginsFolder, entry.name, 'plugin.yaml')),
        )
        .map((entry) => entry.name)
        .sort(byName)
        .map((id) => loadPlugin(base, id))
    : []
  const imports = []
  const items = plugins.map(({ id, manifest, json, files, hash }, index) => {
    if (manifest.entrypoint) {
      imports.push(
        `import register${index} from ${JSON.stringify(`../plugins/${id}/${manifest.entrypoint}`)}`,
      )
    }
    return [
      '  {',
      `    manifest: ${indent(json, 4)},`,
      `    files: ${indent(JSON.stringify(files, null, 2), 4)},`,
      `    hash: ${JSON.stringify(hash)},`,
      ...(manifest.entrypoint ? [`    register: register${index},`] : []),
      '  },',
    ].join('\n')
  })
  return [
    '// Written by scripts/generate.mjs from plugins/: do not edit.',
    "import type { BundledPlugin } from '#features/plugins/types/manifest.ts'",
    ...imports,
    '',
    `export const bundledPlugins: readonly BundledPlugin[] = [${items.length > 0 ? `\n${items.join('\n')}\n` : ''}]`,
    '',
  ].join('\n')
}

const target = join(root, 'src', 'bundled.gen.ts')
const generated = [routes, isolate, mcpCore, trimmedFiles, zodFile, archiveReader, skills]

const openApi = [join(root, 'docs', 'openapi.json'), join(root, 'assets', 'openapi.json')]

/** The document as it is uploaded, for `GET /api/openapi.json`. */
const openApiText = () => JSON.stringify(JSON.parse(readFileSync(openApi[0], 'utf8')))
const isOpenApiCurrent = () =>
  existsSync(openApi[1]) && readFileSync(openApi[1], 'utf8') === openApiText()

function updateOpenApi() {
  if (isOpenApiCurrent()) return
  mkdirSync(join(root, 'assets'), { recursive: true })
  writeFileSync(openApi[1], openApiText())
}

/** Whether what is generated says what is there. Throws what is wrong with a manifest. */
export function isCurrent() {
  const isListed = existsSync(target) && readFileSync(target, 'utf8') === generate(root)
  return isListed && generated.every((one) => one.isCurrent()) && isOpenApiCurrent()
}

/** Brings all of them up to date. An unchanged file keeps its time, so a running dev server does not rebuild. */
export function update() {
  const text = generate(root)
  if (!existsSync(target) || readFileSync(target, 'utf8') !== text) writeFileSync(target, text)
  for (const one of generated) one.update()
  updateOpenApi()
}

// In an installed package this is a part of the command, and there is nothing to write.
if (isClone && process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    update()
  } catch (error) {
    if (!(error instanceof ManifestError || error instanceof SkillError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
