import { IsolaError } from '#contracts/errors.ts'
import { parseManifest } from '#contracts/manifest.ts'
import { bundleCaps, type PluginBundle } from '#contracts/plugin-bundle.ts'
import { checkPath } from './archive-paths.ts'
import { references } from './parse-bundle.ts'
import { readYaml } from './read-yaml.ts'
import { quoted, refused } from './refused.ts'

/** What a stripper answered, checked: a module without types, and what it imports. */
export interface StrippedModule {
  readonly code: string
  readonly imports: readonly string[]
}

export interface FolderDeps {
  /** Takes the types out; throws `plugin_upload_invalid`. */
  readonly strip: (source: string, path: string) => Promise<StrippedModule>
}

const buildHint =
  'Run `isola plugin build` in the plugin’s folder, which makes one module of it, and send the file that it writes.'

/**
 * A plugin's folder as a bundle: `plugin.yaml`, the entry module as JavaScript, the files that the manifest names and
 * README.md. Everything else stays out. Nothing of it is run.
 */
export async function folderToBundle(
  files: ReadonlyMap<string, Uint8Array>,
  { strip }: FolderDeps,
): Promise<PluginBundle> {
  const yaml = files.get('plugin.yaml')
  if (!yaml)
    throw refused('There is no plugin.yaml at the top of the archive or in its one top folder.')
  if (yaml.byteLength > bundleCaps.maxManifestChars)
    throw new IsolaError(
      'plugin_manifest_invalid',
      `plugin.yaml: is longer than ${bundleCaps.maxManifestChars} bytes`,
    )
  const raw = readYaml(toText('plugin.yaml', yaml))
  const manifest = parseManifest(raw)
  const kept: Record<string, string> = {}
  for (const [field, path] of references(manifest)) {
    const file = find(files, field, path)
    kept[path] = toText(path, file)
  }
  const readme = files.get('README.md')
  if (readme) kept['README.md'] = toText('README.md', readme)
  const { entrypoint } = manifest
  if (entrypoint === undefined) return { manifest: raw, files: kept }
  const code = await toCode(entrypoint, find(files, 'entrypoint', entrypoint), strip)
  return { manifest: raw, code, files: kept }
}

function find(files: ReadonlyMap<string, Uint8Array>, field: string, path: string): Uint8Array {
  checkPath(path)
  const file = files.get(path)
  if (file) return file
  throw new IsolaError(
    'plugin_manifest_invalid',
    `plugin.yaml: ${field}: there is no file ${quoted(path)}`,
    {
      param: field,
    },
  )
}

/** Text that is meant to be kept: UTF-8, no more than may be kept. */
function toText(path: string, bytes: Uint8Array): string {
  if (bytes.byteLength > bundleCaps.maxCodeChars)
    throw refused(`${quoted(path)} is larger than ${bundleCaps.maxCodeChars} bytes.`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch (cause) {
    throw refused(`${quoted(path)} is not text in UTF-8.`, cause)
  }
}

async function toCode(
  path: string,
  bytes: Uint8Array,
  strip: FolderDeps['strip'],
): Promise<string> {
  if (!/\.m?[jt]s$/.test(path) || /\.d\.m?ts$/.test(path))
    throw refused(`The entrypoint ${quoted(path)} is neither .ts nor .js. ${buildHint}`)
  const { code, imports } = await strip(toText(path, bytes), path)
  const other = imports.find((name) => name !== 'isola/plugin')
  if (other === undefined) return code
  throw refused(
    `${quoted(path)} imports ${quoted(other)}: what is installed is one module that imports nothing but isola/plugin. ${buildHint}`,
  )
}
