import type { ReadPluginUpload } from '#contracts/plugin-upload.ts'
import type { TrustStore } from '#contracts/trust.ts'
import { readUpload, type UploadDeps } from './read-upload.ts'
import { verifySignature } from './signatures.ts'

/** What an upload is compared with: accepted keys. */
export interface UploadReaderDeps extends UploadDeps {
  readonly trust: Pick<TrustStore, 'list'>
}

/** Reads an upload and decides its tier: all that comes before it is installed, and refuses it on the record. */
export function createUploadReader(deps: UploadReaderDeps): ReadPluginUpload {
  return async (upload) => {
    const { signature, ...read } = await readUpload(upload, deps)
    const { id } = read.manifest
    const signed = { id, hash: read.hash, ...(signature && { signature }) }
    const verified = await verifySignature(signed, signature ? await deps.trust.list() : [])
    return verified.tier === 'trusted'
      ? { ...read, tier: 'trusted', signer: verified.signer.name }
      : { ...read, tier: 'community', notes: [...read.notes, ...verified.notes] }
  }
}
