import type { ReadPluginUpload } from '#contracts/plugin-upload.ts'
import type { TrustStore } from '#contracts/trust.ts'
import { checkPluginId, lookAlikes } from './plugin-names.ts'
import { readUpload, type UploadDeps } from './read-upload.ts'
import { verifySignature } from './signatures.ts'

export interface UploadReaderDeps extends UploadDeps {
  readonly trust: Pick<TrustStore, 'list'>
  /** Ids of the plugins that ship with the deployment. */
  readonly builtin: readonly string[]
  /** Ids of those that were installed beside them. */
  readonly installed: () => Promise<readonly string[]>
}

/** Reads an upload, decides its tier and looks at its name: all that comes before it is installed. */
export function createUploadReader(deps: UploadReaderDeps): ReadPluginUpload {
  return async (upload) => {
    const { signature, ...read } = await readUpload(upload, deps)
    const { id } = read.manifest
    checkPluginId(id, deps.builtin)
    const signed = { id, hash: read.hash, ...(signature && { signature }) }
    const verified = await verifySignature(signed, signature ? await deps.trust.list() : [])
    const known = [...deps.builtin, ...(await deps.installed())]
    const found = [...read.notes, ...lookAlikes(id, known)]
    return verified.tier === 'trusted'
      ? { ...read, tier: 'trusted', signer: verified.signer.name, notes: found }
      : { ...read, tier: 'community', notes: [...found, ...verified.notes] }
  }
}
