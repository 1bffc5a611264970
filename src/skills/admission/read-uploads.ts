import * as z from 'zod'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { PluginSignature } from '#contracts/plugin-upload.ts'
import {
  toSignedSkillText,
  type ReadSkills,
  type ReadSkillUpload,
  type ReadSkillUploads,
  type RefusedSkill,
  type SentSkill,
} from '#contracts/skill-catalog.ts'
import { hasHiddenInLine } from '#contracts/visible-text.ts'
import { nameOf, readBundle, refusedSkill, type ReadBundleDeps } from './read-bundle.ts'

/** What a signature is worth here. Throws `plugin_signature_invalid` for one that does not fit. */
type Verify = (signed: {
  readonly text: string
  readonly signature: PluginSignature | undefined
}) => Promise<{
  readonly tier: 'trusted' | 'community'
  readonly signer?: string
  readonly notes: readonly string[]
}>

export interface UploadReaderDeps extends ReadBundleDeps {
  readonly verify: Verify
}

const signatureSchema = z.strictObject({
  key: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes as base64'),
  value: z.string().regex(/^[A-Za-z0-9+/]{86}==$/, 'must be 64 bytes as base64'),
})
const line = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((text) => !hasHiddenInLine(text), 'has line breaks or characters that nobody can see')
const jsonSchema = z.strictObject({
  bundle: z.unknown(),
  folder: line(200).optional(),
  signature: signatureSchema.optional(),
  source: line(500).optional(),
})

/** Reads what somebody wants installed, and decides its tier. Nothing of a skill is run. */
export function createUploadReader(deps: UploadReaderDeps): ReadSkillUploads {
  const readOne = async (sent: SentSkill, source: string): Promise<ReadSkillUpload> => {
    const { version, notes, ...read } = readBundle(sent, deps)
    const text = toSignedSkillText(version)
    const { notes: more, ...whose } = await deps.verify({ text, signature: sent.signature })
    return { ...read, version: { ...version, ...whose, source }, notes: [...notes, ...more] }
  }
  return async (upload) => {
    if ('zip' in upload) throw refusedSkill('A zip is not read here yet.')
    const parsed = jsonSchema.safeParse(upload.json)
    if (!parsed.success) {
      const [issue] = parsed.error.issues
      const place = issue?.path.map(String).join('.')
      throw refusedSkill(
        `${place ? `${place}: ` : ''}${issue?.message ?? 'is not valid'}. Send { bundle: { fields, files }, folder?, signature?, source? }.`,
      )
    }
    const { source = 'upload', ...sent } = parsed.data
    const { folder, bundle, signature } = sent
    const given = {
      bundle,
      ...(folder !== undefined && { folder }),
      ...(signature && { signature }),
    }
    return { skills: [await readOne(given, source)], refused: [] }
  }
}

/** Of many: each that can be read, and why the others cannot. */
export async function readAll(
  sent: readonly SentSkill[],
  readOne: (sent: SentSkill) => Promise<ReadSkillUpload>,
): Promise<ReadSkills> {
  const skills: ReadSkillUpload[] = []
  const refused: RefusedSkill[] = []
  for (const one of sent)
    await readOne(one).then(
      (read) => void skills.push(read),
      (error: unknown) => {
        const code = errorCode(error)
        if (code === undefined) throw error
        refused.push({ name: nameOf(one), code, message: errorMessage(error) })
      },
    )
  return { skills, refused }
}
