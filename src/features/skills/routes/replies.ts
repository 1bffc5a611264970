import * as z from 'zod'
import { count, diffedLines, notes, text } from '#platform/routes/shapes.ts'

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
