import * as z from 'zod'
import { count, diffedLines, notes, text } from '#platform/routes/shapes.ts'
import { skillBundleSchema } from '#runtime/catalog/types/skill-catalog.ts'
import { hasHiddenInLine } from '#features/plugins/types/visible-text.ts'

export const tier = z
  .enum(['builtin', 'trusted', 'community'])
  .describe('`builtin`: it ships. `trusted`: signed by a key that is accepted. Else `community`.')
export const kind = z.enum(['skill', 'persona'])
export const requires = z.array(text).describe('`tool:<name>` or `plugin:<id>`.')
export const hash = text.describe('sha-256 of all that it is made of.')

const counted = {
  added: count.describe('Lines that are new; those that moved, too.'),
  removed: count.describe('Lines that are gone; those that moved, too.'),
  moved: count.describe('Lines that stand at another place.'),
  lines: diffedLines,
}
const sides = z.object({ before: text, after: text })
export const changes = z
  .object({
    from: text.describe('The hash that it has.'),
    description: sides.optional(),
    kind: sides.optional(),
    requires: z.object({ added: z.array(text), removed: z.array(text) }),
    fields: z.object(counted).optional().describe('The front matter, as it is read.'),
    files: z.array(z.object({ path: text, is: z.enum(['new', 'gone', 'changed']), ...counted })),
  })
  .meta({ id: 'SkillChanges', description: 'What this version changes of the one that it has.' })
const added = z.object({
  name: text,
  hash,
  tier,
  description: text,
  kind,
  requires,
  files: z.array(text).describe('Beside SKILL.md.'),
  source: text,
  changes: changes.optional().describe('Absent if there was none of this name.'),
  notes,
})
export const addition = z
  .object({
    skills: z.array(added),
    refused: z
      .array(z.object({ name: text, code: text, message: text }))
      .describe('Of a collection: which of it cannot be installed, and why.'),
    generation: count.optional(),
  })
  .meta({ id: 'SkillAddition' })

export const change = z.object({ name: text, generation: count, notes })

const flag = z.boolean().optional()
const inQuery = z.stringbool().optional()
const line = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((text) => !hasHiddenInLine(text), 'has line breaks or characters that nobody can see')
const names = z.array(line(64)).max(200)
const seenHash = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hex digits that were shown')

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
export const updateSkillRequest = z.strictObject({ hash: seenHash, dryRun: flag })
/** `POST …/skill-drafts/:draft/promote`: the text that was looked at. */
export const promoteDraftRequest = z.strictObject({ ...options, hash: seenHash })
/** `POST …/skills/:skill/enable`. */
export const enableSkillRequest = z.strictObject({ hash: seenHash.optional() })
