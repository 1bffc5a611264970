import * as z from 'zod'
import type { JsonObject } from '#contracts/json.ts'

/** `{ fields, files }` of a skill. Their contents are checked where they are read. */
export const skillBundleSchema = z.strictObject({
  fields: z.custom<JsonObject>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be the front matter of SKILL.md as an object',
  ),
  files: z.record(z.string(), z.string()),
})

/** The answer of an isolate that has read an archive. */
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
