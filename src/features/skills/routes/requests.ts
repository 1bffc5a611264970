import * as z from 'zod'
import { skillBundleSchema } from '#runtime/catalog/types/skill-reading.ts'
import { hasHiddenInLine } from '#features/plugins/types/visible-text.ts'

const flag = z.boolean().optional()
const inQuery = z.stringbool().optional()
const line = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((text) => !hasHiddenInLine(text), 'has line breaks or characters that nobody can see')
const names = z.array(line(64)).max(200)
const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that were shown')

/** How a version is added, whatever it comes as. */
const options = { allowLookAlike: flag, dryRun: flag }
/** `POST /api/operator/skills`: a skill, as `isola skill add` reads it out of a folder. */
export const sendSkillRequest = z.strictObject({
  ...options,
  bundle: skillBundleSchema,
  folder: line(200).optional(),
  signature: z
    .strictObject({
      key: z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes as base64'),
      value: z.string().regex(/^[A-Za-z0-9+/]{86}==$/, 'must be 64 bytes as base64'),
    })
    .optional(),
  source: line(500).optional(),
})
/** The same: where an archive, a SKILL.md or an index of skills is. */
export const fetchSkillsRequest = z.strictObject({
  ...options,
  url: z.string().min(1).max(2_048),
  skills: names.optional(),
})
/** The same beside a zip: names with commas between. */
export const addSkillsQuery = z.strictObject({
  allowLookAlike: inQuery,
  dryRun: inQuery,
  skills: z.string().max(4_000).optional(),
})

/** `POST …/skills/:skill/update`: a version that waits. */
export const updateSkillRequest = z.strictObject({ hash, dryRun: flag })
/** `POST …/skill-drafts/:draft/promote`: the text that was looked at. */
export const promoteDraftRequest = z.strictObject({ ...options, hash })
/** `POST …/skills/:skill/enable`. */
export const enableSkillRequest = z.strictObject({ hash: hash.optional() })
