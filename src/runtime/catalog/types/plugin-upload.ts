import type { Manifest, TrustTier } from '#contracts/manifest/manifest.ts'
import type { PluginBundle } from './plugin-bundle.ts'

/** The body of `POST /api/operator/plugins`: its JSON, `{ bundle, signature?, source? }` or `{ url }`, or a zip. */
export type Upload = { readonly json: unknown } | { readonly zip: Uint8Array }

/** Over `toSignedText({ id, hash })`. Both base64: an Ed25519 public key as its 32 bytes, 64 bytes of signature. */
export interface PluginSignature {
  readonly key: string
  readonly value: string
}

/** A plugin that may be installed; nothing of it has run. */
export interface ReadUpload {
  readonly bundle: PluginBundle
  /** The canonical text of the bundle, which is hashed and stored. */
  readonly text: string
  readonly manifest: Manifest
  /** sha-256 of `text`, lowercase hex. */
  readonly hash: string
  /** The trust tier, by the signature alone. */
  readonly tier: Exclude<TrustTier, 'builtin'>
  /** The name of the accepted key that signed it. */
  readonly signer?: string
  /** Where it came from: `upload`, `zip`, a URL, or the sender's words. For the operator's eyes. */
  readonly source: string
  /** Notes that the operator should read first. */
  readonly notes: readonly string[]
}

/**
 * Reads an upload that is to be installed. Throws `plugin_upload_invalid`, `plugin_manifest_invalid`,
 * `plugin_contract_mismatch` (its API), `plugin_signature_invalid`, `plugin_source_unavailable`, or `request_invalid`
 * for a URL that is refused.
 */
export type ReadPluginUpload = (upload: Upload) => Promise<ReadUpload>
