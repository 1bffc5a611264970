import { toSignedText } from '#runtime/catalog/types/plugin-upload.ts'
import type { ReadPluginUpload, TrustStore } from '#runtime/catalog/types/plugin-upload.ts'
import { readUpload, type UploadDeps } from './read-upload.ts'
import { verifySignature } from './signatures.ts'

/** The accepted keys for signatures. */
export interface UploadReaderDeps extends UploadDeps {
  readonly trust: Pick<TrustStore, 'list'>
}

/** Reads an upload and decides its tier before it is installed; a refusal goes on the record. */
export function createUploadReader(deps: UploadReaderDeps): ReadPluginUpload {
  const verify = createVerifier(deps.trust)
  return async (upload) => {
    const { signature, ...read } = await readUpload(upload, deps)
    const text = toSignedText({ id: read.manifest.id, hash: read.hash })
    const { notes, ...whose } = await verify({ text, signature })
    return { ...read, ...whose, notes: [...read.notes, ...notes] }
  }
}

/** The tier of a signed or unsigned upload. The accepted keys are read only if there is a signature. */
export const createVerifier =
  (trust: UploadReaderDeps['trust']) => async (signed: Parameters<typeof verifySignature>[0]) => {
    const verified = await verifySignature(signed, signed.signature ? await trust.list() : [])
    return verified.tier === 'trusted'
      ? ({ tier: 'trusted', signer: verified.signer.name, notes: [] } as const)
      : verified
  }
