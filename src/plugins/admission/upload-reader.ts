import type { ReadPluginUpload } from '#contracts/plugin-upload.ts'
import type { TrustStore } from '#contracts/trust.ts'
import { readUpload, type UploadDeps } from './read-upload.ts'
import { verifySignature } from './signatures.ts'

/** What an upload is compared with: accepted keys, and the ids that are taken. */
export interface UploadReaderDeps extends UploadDeps {
  readonly trust: Pick<TrustStore, 'list'>
  /** Ids of plugins that are there already and are easily taken for this one, as notes for the operator. */
  readonly lookAlikes: (id: string) => Promise<readonly string[]>
}

/** Reads an upload, decides its tier and looks at its name: all that comes before it is installed, and refuses it on the record. */
export function createUploadReader(deps: UploadReaderDeps): ReadPluginUpload {
  return async (upload) => {
    const { signature, ...read } = await readUpload(upload, deps)
    const { id } = read.manifest
    const signed = { id, hash: read.hash, ...(signature && { signature }) }
    const verified = await verifySignature(signed, signature ? await deps.trust.list() : [])
    const found = [...read.notes, ...(await deps.lookAlikes(id))]
    return verified.tier === 'trusted'
      ? { ...read, tier: 'trusted', signer: verified.signer.name, notes: found }
      : { ...read, tier: 'community', notes: [...found, ...verified.notes] }
  }
}
