import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import { headOf } from '#contracts/cut.ts'
import { IsolaError } from '#contracts/errors.ts'
import { isFields } from '#contracts/foreign-json.ts'
import type { JsonObject } from '#contracts/json.ts'
import { parseManifest } from '#runtime/catalog/types/permit.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { manifestProblem } from '../types/manifest-texts.ts'
import { hiddenProblem } from '#contracts/visible-text.ts'
import { bundleCaps, type PluginBundle } from '#runtime/catalog/types/plugin-upload.ts'
import { checkDistinct, checkPath, quoted, refused } from './archive-paths.ts'

/** Limit for a new plugin: every reply of a host is searched for all of its secrets. */
export const maxSecrets = 16

const bundleSchema = z.strictObject({
  manifest: z.unknown().refine(isFields, 'must be plugin.yaml as an object'),
  code: z
    .string()
    .max(bundleCaps.maxCodeChars, `must be at most ${bundleCaps.maxCodeChars} characters`)
    .optional(),
  files: z.record(z.string(), z.string()),
})

/** A valid bundle with its parsed manifest. */
export interface CheckedBundle {
  readonly bundle: PluginBundle
  readonly manifest: Manifest
}

/**
 * Checks a client's bundle: its shape, sizes and paths, the manifest, and that manifest, code and files fit together.
 * Runs none of its code.
 *
 * @throws `plugin_upload_invalid` or `plugin_manifest_invalid`, naming the place.
 */
export function parseBundle(value: unknown): CheckedBundle {
  refuseProtoKeys(value, 'bundle', 0)
  const parsed = bundleSchema.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw refused(
      `bundle${issue?.path.map((key) => `.${String(key)}`).join('') ?? ''}: ${issue?.message}.`,
    )
  }
  const { manifest, code, files } = parsed.data
  const bundle = { manifest, ...defined({ code }), files }
  return checkBundle(bundle)
}

/** The same for a bundle that was made here. */
export function checkBundle(bundle: PluginBundle): CheckedBundle {
  checkSizes(bundle)
  const manifest = parseManifest(bundle.manifest)
  const problem = manifestProblem(bundle.manifest as JsonObject, manifest)
  if (problem !== undefined)
    throw new IsolaError('plugin_manifest_invalid', `plugin.yaml: ${problem}`)
  if (new Set(manifest.grants.secrets.map(({ name }) => name)).size > maxSecrets)
    throw invalidManifest('grants.secrets', `has more than ${maxSecrets} secrets`)
  checkParts(manifest, bundle)
  return { bundle, manifest }
}

function checkSizes({ manifest, code = '', files }: PluginBundle): void {
  if (JSON.stringify(manifest).length > bundleCaps.maxManifestChars)
    throw refused(`bundle.manifest: is longer than ${bundleCaps.maxManifestChars} characters.`)
  const paths = Object.keys(files)
  if (paths.length > bundleCaps.maxFiles)
    throw refused(`bundle.files: has more than ${bundleCaps.maxFiles} files.`)
  for (const path of paths) checkPath(path)
  checkDistinct(paths)
  const texts = Object.values(files)
  if (texts.reduce((sum, text) => sum + text.length, 0) > bundleCaps.maxFilesChars)
    throw refused(`bundle.files: has more than ${bundleCaps.maxFilesChars} characters.`)
  if (![code, ...texts].every((text) => text.isWellFormed()))
    throw refused('bundle: a text is not valid Unicode (half of a surrogate pair).')
}

/** Checks that manifest, code and files fit together. */
function checkParts(manifest: Manifest, { code, files }: PluginBundle): void {
  if (manifest.entrypoint !== undefined && code === undefined)
    throw refused(
      `bundle.code: is missing, but plugin.yaml has an entrypoint (${quoted(manifest.entrypoint)}).`,
    )
  if (manifest.entrypoint === undefined && code !== undefined)
    throw invalidManifest('entrypoint', 'is missing, but there is code; name its file')
  for (const [field, path] of references(manifest)) {
    const file = Object.hasOwn(files, path) ? files[path] : undefined
    if (file === undefined) throw invalidManifest(field, `there is no file ${quoted(path)}`)
    // Models read these files as instructions, so hidden characters are refused. A byte order mark at the beginning
    // comes from an editor.
    const hidden = hiddenProblem(file.replace(/^\ufeff/, ''), 'text')
    if (hidden !== undefined) throw refused(`bundle.files[${quoted(path)}]: ${hidden}.`)
  }
}

/** Files that a manifest names, other than its entry module. */
export function references(
  manifest: Manifest,
): readonly (readonly [field: string, path: string])[] {
  return manifest.agent ? [['agent.instructions', manifest.agent.instructions]] : []
}

function invalidManifest(field: string, message: string): IsolaError {
  const text = `plugin.yaml: ${field}: ${message}`
  return new IsolaError('plugin_manifest_invalid', text, { param: field })
}

const maxDepth = 64

/** `JSON.parse` makes `__proto__` an ordinary member; code that copies the object would set a prototype. */
function refuseProtoKeys(value: unknown, place: string, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > maxDepth) throw refused(`bundle: is nested deeper than ${maxDepth} levels.`)
  if (Object.hasOwn(value, '__proto__'))
    throw refused(`${headOf(place, 200)}: a key may not be named __proto__.`)
  for (const [key, member] of Object.entries(value))
    refuseProtoKeys(member, `${place}.${key}`, depth + 1)
}
