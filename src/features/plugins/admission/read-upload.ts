import * as z from 'zod'
import { defined } from '#contracts/defined.ts'
import {
  bundleCaps,
  toBundleText,
  type PluginSignature,
  type ReadUpload,
  type Upload,
} from '#runtime/catalog/types/plugin-upload.ts'
import { hasHiddenInLine } from '../types/visible-text.ts'
import { checkApi } from '../loading/plugin-api.ts'
import type { ReadArchive } from './archive-reader.ts'
import { fetchArchive, type FetchArchiveDeps } from './fetch-archive.ts'
import { parseBundle, type CheckedBundle } from './parse-bundle.ts'
import { refused } from './archive-paths.ts'

/** An upload whose signature is not verified yet. */
export type UnverifiedUpload = Omit<ReadUpload, 'tier' | 'signer'> & {
  readonly signature?: PluginSignature
}

/** The network for an address, the reader of zips, and hashes. */
export interface UploadDeps extends FetchArchiveDeps {
  readonly readArchive: ReadArchive
  readonly sha256: (text: string) => string
}

const signatureSchema = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes as base64'),
  value: z.string().regex(/^[A-Za-z0-9+/]{86}==$/, 'must be 64 bytes as base64'),
})
const jsonSchema = z.strictObject({
  bundle: z.unknown(),
  signature: signatureSchema.optional(),
  source: z
    .string()
    .max(500)
    .refine((text) => !hasHiddenInLine(text), 'has line breaks or characters that nobody can see')
    .optional(),
})
const urlSchema = z.strictObject({ url: z.string().min(1).max(2_048) })

/**
 * Reads an upload in any of its forms. Runs no code of the plugin.
 *
 * @throws `plugin_upload_invalid`, `plugin_manifest_invalid`, `plugin_contract_mismatch` (its API), or what
 *   `fetchArchive` and `readArchive` throw.
 * @see docs/security.md T24, T26
 */
export async function readUpload(upload: Upload, deps: UploadDeps): Promise<UnverifiedUpload> {
  if ('zip' in upload) return readBytes(upload.zip, 'zip', deps)
  const asked = urlSchema.safeParse(upload.json)
  if (!asked.success) return readJson(upload.json, deps)
  const { url } = asked.data
  return readBytes(await fetchArchive(url, deps), url, deps)
}

/** A zip, or the file that `isola plugin build` writes. */
async function readBytes(
  bytes: Uint8Array,
  source: string,
  deps: UploadDeps,
): Promise<UnverifiedUpload> {
  if (bytes.byteLength > bundleCaps.maxArchiveBytes)
    throw refused(`The archive is larger than ${bundleCaps.maxArchiveBytes} bytes.`)
  if (bytes[0] === 0x7b) return { ...readJson(parseJson(bytes), deps), source }
  return toUpload(await deps.readArchive(bytes), source, deps)
}

function readJson(json: unknown, deps: UploadDeps): UnverifiedUpload {
  const parsed = jsonSchema.safeParse(json)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue?.path.map(String).join('.')
    throw refused(
      `${place ? `${place}: ` : ''}${issue?.message ?? 'is not valid'}. ` +
        'Send { bundle, signature?, source? }, { url }, or a zip as application/zip.',
    )
  }
  const { bundle, signature, source = 'upload' } = parsed.data
  const read = toUpload(parseBundle(bundle), source, deps)
  return { ...read, ...defined({ signature }) }
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
): UnverifiedUpload {
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
