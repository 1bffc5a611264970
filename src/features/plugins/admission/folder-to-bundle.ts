import { IsolaError } from '#contracts/errors.ts'
import { parseManifest } from '#runtime/catalog/types/permit.ts'
import { bundleCaps, type PluginBundle } from '#runtime/catalog/types/plugin-upload.ts'
import { checkPath, quoted, refused } from './archive-paths.ts'
import { references } from './parse-bundle.ts'
import { readYaml } from './read-yaml.ts'

/**
 * Makes a bundle of a plugin's folder: `plugin.yaml`, the entry module as JavaScript, the files that the manifest
 * names, and README.md. All other files are left out. No code is run, and the module is not even parsed: a wrong
 * import shows when the plugin is enabled.
 */
export function folderToBundle(files: ReadonlyMap<string, Uint8Array>): PluginBundle {
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
  const code = toCode(entrypoint, find(files, 'entrypoint', entrypoint))
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

/** A file as text: UTF-8, within the size limit. */
function toText(path: string, bytes: Uint8Array): string {
  if (bytes.byteLength > bundleCaps.maxCodeChars)
    throw refused(`${quoted(path)} is larger than ${bundleCaps.maxCodeChars} bytes.`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch (cause) {
    throw refused(`${quoted(path)} is not text in UTF-8.`, cause)
  }
}

function toCode(path: string, bytes: Uint8Array): string {
  if (/\.m?js$/.test(path)) return toText(path, bytes)
  const kind = /\.[cm]?tsx?$/.test(path) ? 'TypeScript' : 'neither .js nor .mjs'
  throw refused(
    `The entrypoint ${quoted(path)} is ${kind}: what is installed is one module of JavaScript. ` +
      'Run `isola plugin build` in the plugin’s folder and send what it writes; ' +
      '`--out <name>.zip` makes it a zip.',
  )
}
