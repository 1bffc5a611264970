import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { PluginSignature } from '#runtime/catalog/types/plugin-upload.ts'
import {
  toSignedSkillText,
  type ReadSkills,
  type ReadSkillUpload,
  type ReadSkillUploads,
  type RefusedSkill,
  type SentSkill,
} from '#runtime/catalog/types/skill-catalog.ts'
import { createFetchSkills, type FetchSkillsDeps } from './fetch-skills.ts'
import { nameOf, readBundle, type ReadBundleDeps } from './read-bundle.ts'

/** The tier that a signature gives. Throws `plugin_signature_invalid` for a signature that does not fit. */
type Verify = (signed: {
  readonly text: string
  readonly signature: PluginSignature | undefined
}) => Promise<{
  readonly tier: 'trusted' | 'community'
  readonly signer?: string
  readonly notes: readonly string[]
}>

export interface UploadReaderDeps extends ReadBundleDeps, FetchSkillsDeps {
  readonly verify: Verify
}

/** Reads uploads of skills and decides their tier. Runs no code of a skill. */
export function createUploadReader(deps: UploadReaderDeps): ReadSkillUploads {
  const fetchSkills = createFetchSkills(deps)
  const readOne = async (sent: SentSkill, source: string): Promise<ReadSkillUpload> => {
    const { version, notes, ...read } = readBundle(sent, deps)
    const text = toSignedSkillText(version)
    const { notes: more, ...whose } = await deps.verify({ text, signature: sent.signature })
    return { ...read, version: { ...version, ...whose, source }, notes: [...notes, ...more] }
  }
  return async (upload) => {
    if ('sent' in upload)
      return { skills: [await readOne(upload.sent, upload.source ?? 'upload')], refused: [] }
    const { skills: only = [] } = upload
    if ('zip' in upload) return readAll(await deps.readArchive(upload.zip, only), 'zip', readOne)
    const { sent, refused, source } = await fetchSkills(upload.url, only)
    const read = await readAll(sent, source, readOne)
    return { ...read, refused: [...refused, ...read.refused] }
  }
}

/**
 * Reads each skill of a collection, and gives the reason for those that cannot be read. A single skill that cannot be
 * read is an error.
 */
async function readAll(
  sent: readonly SentSkill[],
  source: string,
  readOne: (sent: SentSkill, source: string) => Promise<ReadSkillUpload>,
): Promise<ReadSkills> {
  const skills: ReadSkillUpload[] = []
  const refused: RefusedSkill[] = []
  for (const one of sent) {
    try {
      skills.push(await readOne(one, source))
    } catch (error) {
      const code = errorCode(error)
      if (code === undefined || sent.length === 1) throw error
      refused.push({ name: nameOf(one), code, message: errorMessage(error) })
    }
  }
  return { skills, refused }
}
