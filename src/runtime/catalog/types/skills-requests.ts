import * as z from 'zod'
import type { JsonObject } from '#contracts/json.ts'
import { hasHiddenInLine } from '#contracts/visible-text.ts'

const flag = z.boolean().optional()
const inQuery = z.stringbool().optional()
const line = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((text) => !hasHiddenInLine(text), 'has line breaks or characters that nobody can see')
const names = z.array(line(64)).max(200)
const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that were shown')

/** `{ fields, files }` of a skill: what is in it is checked where it is read. */
export const skillBundleSchema = z.strictObject({
  fields: z.custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be the front matter of SKILL.md as an object',
  ),
  files: z.record(z.string(), z.string()),
})

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

/** What an isolate answers that has read an archive. */
export const readSkillsAnswer = z.strictObject({
  skills: z.array(
    z.union([
      z.strictObject({
        folder: z.string().max(300).optional(),
        bundle: skillBundleSchema,
        notes: z.array(z.string().max(5_000)).max(20),
      }),
      z.strictObject({ folder: z.string().max(300).optional(), problem: z.string().max(2_000) }),
    ]),
  ),
})
