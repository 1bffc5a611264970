import * as z from 'zod'
import type { ApiContracts } from './contract.ts'
import { count, json, text } from './shapes.ts'

const params = { skill: 'Its name.' }

const shared = {
  name: text,
  description: text,
  kind: z.enum(['skill', 'persona']),
  requires: z.array(text).describe('`tool:<name>` or `plugin:<id>`.'),
  license: text.optional(),
  compatibility: text.optional(),
  hash: text.describe('sha-256 of all of its files.'),
  state: z
    .enum(['ready', 'gated'])
    .describe('`gated`: it requires what is not there, and is neither found nor loaded.'),
  missing: z.array(text).describe('What it requires and is not there.'),
  tokens: z
    .object({
      found: count.describe('Where it is found: name and description; 0 of a persona.'),
      loaded: count.describe('Where its instructions are loaded.'),
    })
    .describe('What a model reads of it, by estimate.'),
}

/** The skills that there are. */
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
        }),
      },
    },
    errors: [404],
  },
} as const satisfies ApiContracts
