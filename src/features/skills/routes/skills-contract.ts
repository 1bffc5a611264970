import * as z from 'zod'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import {
  addSkillsQuery,
  enableSkillRequest,
  fetchSkillsRequest,
  sendSkillRequest,
  updateSkillRequest,
} from '#runtime/catalog/types/skills-requests.ts'
import { atMs, count, diffedLines, json, notes, text } from '#contracts/routes/shapes.ts'

const params = { skill: 'Its name.' }
const tier = z
  .enum(['builtin', 'trusted', 'community'])
  .describe('`builtin`: it ships. `trusted`: signed by a key that is accepted. Else `community`.')
const kind = z.enum(['skill', 'persona'])
const requires = z.array(text).describe('`tool:<name>` or `plugin:<id>`.')
const hash = text.describe('sha-256 of all that it is made of.')

const shared = {
  name: text,
  description: text,
  kind,
  requires,
  license: text.optional(),
  compatibility: text.optional(),
  hash,
  tier,
  state: z
    .enum(['ready', 'gated', 'installed', 'disabled'])
    .describe(
      '`gated`: it requires what is not there. `installed`: it was never enabled. Only one that is `ready` is found and loaded.',
    ),
  missing: z.array(text).describe('What it requires and is not there.'),
  tokens: z
    .object({
      found: count.describe('Where it is found: name and description; 0 of a persona.'),
      loaded: count.describe('Where its instructions are loaded.'),
    })
    .describe('What a model reads of it, by estimate.'),
  source: text
    .optional()
    .describe('Where it came from. Like what follows, absent of one that ships.'),
  signer: text.optional().describe('The name of the key that signed it.'),
  installedBy: text.optional(),
  installedAtMs: atMs.optional(),
}

const counted = {
  added: count.describe('Lines that are new; those that moved, too.'),
  removed: count.describe('Lines that are gone; those that moved, too.'),
  moved: count.describe('Lines that stand at another place.'),
  lines: diffedLines,
}
const sides = z.object({ before: text, after: text })
const changes = z
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
const change = z.object({ name: text, generation: count, notes })
const errors = [404, 409]

/** What somebody brings: a skill, or where one or several are. */
const upload = z.union([sendSkillRequest, fetchSkillsRequest])

/** The skills that there are, and every change of those that were installed. */
export const skillContracts = {
  'GET /api/personas': {
    summary: 'What the orchestrator may be asked to speak as.',
    replies: {
      200: {
        is: 'The personas.',
        json: z.object({ personas: z.array(z.object({ name: text, description: text })) }),
      },
    },
  },
  'GET /api/operator/skills': {
    summary: 'The skills and personas, with what each costs and lacks.',
    replies: {
      200: { is: 'All of them.', json: z.object({ skills: z.array(z.object(shared)) }) },
    },
  },
  'POST /api/operator/skills': {
    summary: 'Installs a version of a skill, which enables nothing.',
    query: addSkillsQuery,
    body: upload,
    otherBody: 'application/zip',
    replies: {
      200: { is: 'With `dryRun`: what would be installed.', json: addition },
      201: { is: 'It is there.', json: addition },
    },
    errors: [403, 409, 422, 502],
  },
  'GET /api/operator/skills/:skill': {
    summary: 'A skill with its files.',
    params,
    replies: {
      200: {
        is: 'The skill.',
        json: z.object({
          ...shared,
          frontMatter: z
            .record(text, json)
            .optional()
            .describe('All that stands at the top of its SKILL.md.'),
          files: z.record(text, text).describe('Text by path; `SKILL.md` is one of them.'),
          versions: z
            .array(z.object({ hash, tier, source: text, installedBy: text, installedAtMs: atMs }))
            .optional()
            .describe('Those that are kept, newest first. Absent of one that ships.'),
        }),
      },
    },
    errors: [404],
  },
  'DELETE /api/operator/skills/:skill': {
    summary: 'Removes an installed skill.',
    params,
    replies: { 200: { is: 'It is gone.', json: change } },
    errors,
  },
  'POST /api/operator/skills/:skill/update': {
    summary: 'Takes a version that waits; with `dryRun` only shows what it changes.',
    params,
    body: updateSkillRequest,
    replies: {
      200: {
        is: 'What it changes, and with `generation` that it did.',
        json: z.object({ name: text, hash, changes, generation: count.optional(), notes }),
      },
    },
    errors,
  },
  'POST /api/operator/skills/:skill/enable': {
    summary: 'Lets it be found and loaded.',
    params,
    body: enableSkillRequest,
    isBodyOptional: true,
    replies: { 200: { is: 'What it came to.', json: change } },
    errors,
  },
  'POST /api/operator/skills/:skill/disable': {
    summary: 'It is not found and not loaded any more.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'What it came to.', json: change } },
    errors,
  },
} as const satisfies ApiContracts
