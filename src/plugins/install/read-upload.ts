import { z } from 'zod'
import type { Manifest } from '#contracts/manifest.ts'
import { bundleCaps, toBundleText, type PluginBundle } from '#contracts/plugin-bundle.ts'
import { checkApi } from '../plugin-api.ts'
import { fetchArchive, type FetchArchiveDeps } from './fetch-archive.ts'
import { folderToBundle } from './folder-to-bundle.ts'
import { checkBundle, parseBundle, type CheckedBundle } from './parse-bundle.ts'
import { refused } from './refused.ts'
import { createStripTypes, type StripTypesDeps } from './strip-types.ts'
import { unzip } from './unzip.ts'

/** What `POST /api/operator/plugins` takes: its JSON, `{ bundle, signature?, source? }` or `{ url }`, or a zip. */
export type Upload = { readonly json: unknown } | { readonly zip: Uint8Array }

/** Over `toSignedText({ id, hash })`. Both base64: an Ed25519 public key as its 32 bytes, 64 bytes of signature. */
export interface PluginSignature {
  readonly key: string
  readonly value: string
}

/** A plugin that may be installed. What it is worth is decided by whoever installs it. */
export interface ReadUpload {
  readonly bundle: PluginBundle
  /** The canonical text of the bundle: what is hashed and kept. */
  readonly text: string
  readonly manifest: Manifest
  /** sha-256 of `text`, lowercase hex. */
  readonly hash: string
  /** As it was sent: not verified. */
  readonly signature?: PluginSignature
  /** Where it came from, in the words of whoever sent it; for the operator's eyes. */
  readonly source: string
  /** What the operator should read. */
  readonly notes: readonly string[]
}

export interface UploadDeps extends FetchArchiveDeps, StripTypesDeps {
  readonly sha256: (text: string) => string
}

const signatureSchema = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes as base64'),
  value: z.string().regex(/^[A-Za-z0-9+/]{86}==$/, 'must be 64 bytes as base64'),
})
const jsonSchema = z.strictObject({
  bundle: z.unknown(),
  signature: signatureSchema.optional(),
  source: z.string().max(500).optional(),
})
const urlSchema = z.strictObject({ url: z.string().min(1).max(2_048) })

/**
 * Reads what somebody wants installed, in any of its forms. Nothing of the plugin is run on the way.
 *
 * @throws `plugin_upload_invalid`, `plugin_manifest_invalid`, `plugin_contract_mismatch` (its API), or what
 *   `fetchArchive` throws.
 * @see SECURITY.md T24, T26
 */
export async function readUpload(upload: Upload, deps: UploadDeps): Promise<ReadUpload> {
  if ('zip' in upload) return readBytes(upload.zip, 'zip', deps)
  const asked = urlSchema.safeParse(upload.json)
  if (!asked.success) return readJson(upload.json, deps)
  const { url } = asked.data
  return readBytes(await fetchArchive(url, deps), url, deps)
}

/** A zip, or the file that `isola plugin build` writes. */
async function readBytes(bytes: Uint8Array, source: string, deps: UploadDeps): Promise<ReadUpload> {
  if (bytes.byteLength > bundleCaps.maxArchiveBytes)
    throw refused(`The archive is larger than ${bundleCaps.maxArchiveBytes} bytes.`)
  if (bytes[0] === 0x7b) return { ...readJson(parseJson(bytes), deps), source }
  const bundle = await folderToBundle(unzip(bytes), { strip: createStripTypes(deps) })
  return toUpload(checkBundle(bundle), source, deps)
}

function readJson(json: unknown, deps: UploadDeps): ReadUpload {
  const parsed = jsonSchema.safeParse(json)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue?.path.map(String).join('.')
    throw refused(
      `${place ? `${place}: ` : ''}${issue?.message ?? 'is not valid'}. Send { bundle, signature?, source? }, { url }, or a zip as application/zip.`,
    )
  }
  const { bundle, signature, source = 'upload' } = parsed.data
  const read = toUpload(parseBundle(bundle), source, deps)
  return { ...read, ...(signature && { signature }) }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes))
  } catch (cause) {
    throw refused('What came is neither a zip nor JSON.', cause)
  }
}

function toUpload(
  { bundle, manifest }: CheckedBundle,
  source: string,
  { sha256 }: Pick<UploadDeps, 'sha256'>,
): ReadUpload {
  const warning = checkApi(manifest)
  const text = toBundleText(bundle)
  return {
    bundle,
    text,
    manifest,
    hash: sha256(text),
    source,
    notes: warning === undefined ? [] : [warning],
  }
}
