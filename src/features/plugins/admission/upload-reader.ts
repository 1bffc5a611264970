import { IsolaError } from '#contracts/errors.ts'
import {
  type PluginSignature,
  type ReadPluginUpload,
  type TrustStore,
  toSignedText,
} from '#runtime/catalog/types/plugin-upload.ts'
import type { TrustedKey } from '#runtime/catalog/types/plugin-upload.ts'
import { readUpload, type UploadDeps } from './read-upload.ts'

interface SignedText {
  readonly text: string
  readonly signature?: PluginSignature | undefined
}

/**
 * Decides the tier of an upload by its signature alone (P20). A wrong signature is refused, not treated as absent:
 * the plugin or the signature was changed after signing.
 *
 * @param signed.text The signed text. Contains the bundle's hash, which is computed here and not taken from the
 *   upload.
 * @throws `plugin_signature_invalid`
 */
export async function verifySignature(
  signed: SignedText,
  trusted: readonly TrustedKey[],
): Promise<
  | { readonly tier: 'trusted'; readonly signer: TrustedKey }
  | { readonly tier: 'community'; readonly notes: readonly string[] }
> {
  const { signature } = signed
  if (!signature) return { tier: 'community', notes: [] }
  if (!(await isSigned(signature, signed.text))) {
    const message =
      'signature: does not fit what it came with, so one of the two was changed after it was signed. ' +
      'Build and sign it anew.'
    throw new IsolaError('plugin_signature_invalid', message, { param: 'signature' })
  }
  const signer = trusted.find(({ publicKey }) => publicKey === signature.key)
  if (signer) return { tier: 'trusted', signer }
  const note = `signed by a key that is not accepted here: isola trust add <name> ${signature.key}`
  return { tier: 'community', notes: [note] }
}

/** An unreadable key or signature verifies nothing. */
async function isSigned({ key, value }: PluginSignature, text: string): Promise<boolean> {
  try {
    const imported = await crypto.subtle.importKey('raw', toBytes(key), 'Ed25519', false, [
      'verify',
    ])
    const bytes = new TextEncoder().encode(text)
    return await crypto.subtle.verify('Ed25519', imported, toBytes(value), bytes)
  } catch {
    return false
  }
}

const toBytes = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

type AcceptedKeys = Pick<TrustStore, 'list'>

/** Reads an upload and decides its tier before it is installed; a refusal goes on the record. */
export function createUploadReader({
  trust,
  ...deps
}: UploadDeps & { readonly trust: AcceptedKeys }): ReadPluginUpload {
  const verify = createVerifier(trust)
  return async (upload) => {
    const { signature, ...read } = await readUpload(upload, deps)
    const text = toSignedText({ id: read.manifest.id, hash: read.hash })
    const { notes, ...whose } = await verify({ text, signature })
    return { ...read, ...whose, notes: [...read.notes, ...notes] }
  }
}

/** The tier of a signed or unsigned upload. The accepted keys are read only if there is a signature. */
export const createVerifier = (trust: AcceptedKeys) => async (signed: SignedText) => {
  const verified = await verifySignature(signed, signed.signature ? await trust.list() : [])
  return verified.tier === 'trusted'
    ? ({ tier: 'trusted', signer: verified.signer.name, notes: [] } as const)
    : verified
}
