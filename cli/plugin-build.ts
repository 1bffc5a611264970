// A plugin's folder as one bundle, made on its author's machine: what `isola plugin build|add|sign|test` start from.
import type * as Esbuild from 'esbuild'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join, relative, resolve, sep } from 'node:path'
import { stringify } from 'yaml'
import {
  toBundleText,
  toSignedText,
  type PluginBundle,
} from '../src/runtime/catalog/types/plugin-upload.ts'
import {
  checkBundle,
  parseBundle,
  references,
} from '../src/features/plugins/admission/parse-bundle.ts'
import { readYaml } from '../src/features/plugins/admission/read-yaml.ts'
import { parseManifest } from '../src/runtime/catalog/types/permit.ts'
import type { Manifest } from '../src/contracts/manifest/manifest.ts'
import { largeToolFile, root } from '../scripts/toolchain.mjs'
import { authorFiles } from './author-files.ts'
import { runAlone } from './sandbox.ts'

/** A bundle, as the host reads it, and the hash that pins all of it. */
export interface BuiltPlugin {
  readonly bundle: PluginBundle
  readonly manifest: Manifest
  readonly hash: string
  /** From the file of an earlier build. */
  readonly signature?: unknown
  readonly source?: string | undefined
}

export const esbuild = (): typeof Esbuild =>
  createRequire(import.meta.url)(largeToolFile('esbuild', 'lib', 'main.js'))

export const hashOf = (bundle: PluginBundle): string =>
  createHash('sha256').update(toBundleText(bundle)).digest('hex')

/** Whether a file is really there, in the folder: a link may lead to what its author has no business with. */
const isInside = (folder: string, file: string) =>
  realpathSync(file).startsWith(realpathSync(folder) + sep)

function readText(folder: string, path: string): string {
  const file = resolve(folder, path)
  if (relative(folder, file).startsWith('..'))
    throw new Error(`${path} leaves the plugin's folder.`)
  if (!existsSync(file)) throw new Error(`plugin.yaml names ${path}, and there is no such file.`)
  if (!isInside(folder, file)) throw new Error(`${path} is a link out of the plugin's folder.`)
  return readFileSync(file, 'utf8')
}

/** An isolate has no Node and no bindings: the error names the file that imports them. */
const refuseForeign: Esbuild.Plugin = {
  name: 'isola',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
      if (path === 'isola/plugin') return { path, external: true }
      const isForeign = /^(node|cloudflare|workerd):/.test(path) || isBuiltin(path)
      // A package named like a built-in of Node (`events`, `buffer`) may be installed; a `node:` import cannot be a
      // package.
      if (!isForeign || kind === 'entry-point') return undefined
      const by = relative(build.initialOptions.absWorkingDir ?? '', importer)
      const text =
        `${by} imports ${path}, which an island does not have. Use what the web platform has, or another ` +
        'package.'
      return { errors: [{ text }] }
    })
  },
}

/**
 * Whether a file outside of the folder may be bundled: the modules of a package, and neither what hides in one nor what
 * is ours. An installed Isola lies in node_modules too, with the settings of its developer.
 *
 * @param attributes Of the import: with `type: 'text'` anything would be a module.
 * @param ours Where this command lies.
 */
export function isPackageModule(
  path: string,
  attributes: Readonly<Record<string, string>> = {},
  ours = root,
): boolean {
  const file = realpathSync(path)
  const parts = file.split(sep)
  const inside = parts.slice(parts.lastIndexOf('node_modules') + 1)
  const isOurs = isInside(ours, file) && !isInPackage(relative(realpathSync(ours), file))
  return (
    isInPackage(file) &&
    !isOurs &&
    !inside.some((part) => part.startsWith('.')) &&
    /\.([cm]?[jt]s|json)$/.test(file) &&
    Object.entries(attributes).every(([name, value]) => name === 'type' && value === 'json')
  )
}

const isInPackage = (path: string) => path.split(sep).includes('node_modules')

/** Modules come from the folder or from a package: an import must not read the rest of the machine. */
const stayInside: Esbuild.Plugin = {
  name: 'isola-folder',
  setup(build) {
    const { absWorkingDir: folder = '' } = build.initialOptions
    build.onLoad({ filter: /.*/ }, ({ path, with: attributes }) => {
      if (isInside(folder, path) || isPackageModule(path, attributes)) return undefined
      const text = isInPackage(realpathSync(path))
        ? `${relative(folder, path)} is no module of a package: from there come .js, .ts and .json, imported as ` +
          'what they are. Copy it into the folder.'
        : `${relative(folder, path)} is outside of the plugin's folder. Copy it into the folder, or import it ` +
          'as a package.'
      return { errors: [{ text }] }
    })
  },
}

/** Bundles files of a folder into one module. `entry` is esbuild's `entryPoints` or `stdin`, with more options. */
export async function bundleModule(folder: string, entry: Esbuild.BuildOptions) {
  const options = {
    absWorkingDir: folder,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2024',
    platform: 'neutral',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    legalComments: 'none',
    logLevel: 'silent',
    plugins: [refuseForeign, stayInside],
    ...entry,
  } as const satisfies Esbuild.BuildOptions
  const built = await esbuild()
    .build(options)
    .catch((error: Error & Partial<Esbuild.BuildFailure>) => {
      const lines = (error.errors ?? []).map(({ text, location }) =>
        location ? `${location.file}:${location.line}:${location.column}: ${text}` : text,
      )
      throw new Error(lines.length > 0 ? lines.join('\n') : error.message, { cause: error })
    })
  const [output] = Object.values(built.metafile?.outputs ?? {})
  return { code: built.outputFiles?.[0]?.text ?? '', exported: output?.exports ?? [] }
}

/** Answers what `schemas` of the plugin's module are as JSON Schema, by tool; how it failed as `{ error }`. */
const schemaReader = `
import { z } from 'zod'
export default {
  async fetch() {
    try {
      const { schemas } = await import('isola:code')
      const toSchema = (schema) => z.toJSONSchema(schema, { io: 'input' })
      const read = Object.entries(schemas).map(([name, schema]) => [name, toSchema(schema)])
      return Response.json({ schemas: Object.fromEntries(read) })
    } catch (error) {
      return Response.json({ error: String(error) })
    }
  },
}`

/** esbuild: modules that are texts, and files of ours by the names that a plugin has for them. */
export const withModules = (
  texts: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Esbuild.Plugin => ({
  name: 'isola-texts',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path }) => {
      if (Object.hasOwn(texts, path)) return { path, namespace: 'isola-text' }
      const file = Object.hasOwn(files, path) ? files[path] : undefined
      return file === undefined ? undefined : { path: join(root, file) }
    })
    build.onLoad({ filter: /.*/, namespace: 'isola-text' }, ({ path }) => ({
      contents: texts[path] ?? '',
      loader: 'js',
    }))
  },
})

export const pluginApi = { 'isola/plugin': authorFiles['isola/plugin'] }

/** plugin.yaml as it is written, of which `parseManifest` has said that it fits. */
interface RawManifest {
  readonly entrypoint?: string
  readonly contributes?: {
    readonly tools?: readonly { readonly name: string; readonly input_schema?: unknown }[]
  }
}

/**
 * `export const schemas = { tool: z.object({…}) }`: the input schemas of tools that plugin.yaml gives none. The module
 * has to run for them, so it runs where it reaches nothing.
 */
async function addSchemas(manifest: RawManifest, code: string): Promise<RawManifest> {
  const { outputFiles } = await esbuild().build({
    absWorkingDir: root,
    stdin: { contents: schemaReader, resolveDir: root },
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    logLevel: 'silent',
    plugins: [withModules({ 'isola:code': code }, pluginApi)],
  })
  const { schemas, error } = JSON.parse(await runAlone(outputFiles[0]?.text ?? ''))
  if (!schemas) throw new Error(`schemas: could not be read: ${String(error).slice(0, 500)}`)
  const tools = (manifest.contributes?.tools ?? []).map((tool) => {
    if (tool.input_schema || !Object.hasOwn(schemas, tool.name)) return tool
    const { $schema: _drop, ...input } = schemas[tool.name]
    return { ...tool, input_schema: input }
  })
  return { ...manifest, contributes: { ...manifest.contributes, tools } }
}

/**
 * Builds a folder.
 * @returns The bundle with its manifest as the host reads it, and the hash that pins all of it.
 */
export async function buildFolder(path: string): Promise<BuiltPlugin> {
  const folder = resolve(path)
  if (!existsSync(join(folder, 'plugin.yaml')))
    throw new Error(
      `There is no plugin.yaml in ${path}. \`isola plugin new <name>\` makes a folder.`,
    )
  const written = readYaml(readText(folder, 'plugin.yaml'), join(path, 'plugin.yaml'))
  const first = parseManifest(written)
  let raw = written as RawManifest
  const named = references(first).map(([, file]) => [file, readText(folder, file)])
  const readme = existsSync(join(folder, 'README.md'))
    ? [['README.md', readText(folder, 'README.md')]]
    : []
  const files = Object.fromEntries([...named, ...readme])
  if (first.entrypoint === undefined) return finish({ manifest: raw, files })
  readText(folder, first.entrypoint)
  const { code, exported } = await bundleModule(folder, { entryPoints: [first.entrypoint] })
  // The bundle holds JavaScript, and a zip of it has a file of that name.
  raw = { ...raw, entrypoint: first.entrypoint.replace(/\.([cm]?tsx?|jsx|cjs)$/, '.js') }
  if (!exported.includes('default'))
    throw new Error(`${first.entrypoint} has no default export: it must be the register function.`)
  if (exported.includes('schemas')) raw = await addSchemas(raw, code)
  return finish({ manifest: raw, code, files })
}

function finish(given: {
  readonly manifest: object
  readonly code?: string
  readonly files: Readonly<Record<string, string>>
}): BuiltPlugin {
  const { bundle, manifest } = checkBundle(given)
  return { bundle, manifest, hash: hashOf(bundle) }
}

/** The files of a bundle, as an archive of it has them: what comes of it is the same version. */
export const filesOf = ({ manifest, code, files }: PluginBundle): Record<string, string> => ({
  'plugin.yaml': `# Written by \`isola plugin build\`.\n${stringify(manifest)}`,
  // A manifest with code names its module.
  ...(code !== undefined && { [String(Object(manifest).entrypoint)]: code }),
  ...files,
})

/** The same files give the same bytes. */
export async function zipOf(files: Readonly<Record<string, string>>) {
  const { strToU8, zipSync } = await import('fflate')
  const entries = Object.entries(files).map(([name, text]) => [name, strToU8(text)] as const)
  return zipSync(Object.fromEntries(entries), { mtime: '1980-01-01T00:00:00' })
}

/** Reads a file of `isola plugin build`: a bundle, and its signature if it has one. */
export function readBundleFile(path: string): BuiltPlugin {
  const { bundle, signature, source } = JSON.parse(readFileSync(path, 'utf8'))
  const { manifest } = parseBundle(bundle)
  return { bundle, manifest, hash: hashOf(bundle), signature, source }
}

export const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
export const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** The text that a signature of a plugin signs. */
export const signedTextOf = ({ manifest, hash }: Pick<BuiltPlugin, 'manifest' | 'hash'>): string =>
  toSignedText({ id: manifest.id, hash })

/** A folder, built, or the file of one that was. */
export async function readFolderOrBundle(path: string): Promise<BuiltPlugin> {
  if (isFolder(path)) return buildFolder(path)
  if (isFile(path)) return readBundleFile(path)
  throw new Error(`${path} is neither a plugin's folder nor a bundle.`)
}

export const fileNameOf = ({ id, version }: Manifest): string => `${id}-${version}.isola.json`
