import * as z from 'zod'
import { labelSchema } from '#contracts/label.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { promoteDraftRequest } from '#runtime/catalog/types/skills-requests.ts'
import { atMs, count, text } from '#contracts/routes/shapes.ts'
import { addition } from './skills-contract.ts'

const params = { draft: 'The draft’s id: `drf_` and 22 characters.' }

const hash = text.describe('sha-256 of all of its files.')
const label = labelSchema.meta({ id: 'Label' })
const summary = {
  id: text,
  state: z.enum(['open', 'promoted']).describe('One that was promoted stays, for its origin.'),
  name: text,
  description: text,
  requires: z.array(text).describe('Tools that its run called and its text names.'),
  hash,
  principal: text.describe('Whose run wrote the text that it has.'),
  label: label.describe('Of all that the writer of this text had read.'),
  count: count.describe('How often it, or nearly the same, was written.'),
  firstAtMs: atMs,
  lastAtMs: atMs,
  promotedBy: text.optional(),
  promotedAtMs: atMs.optional(),
}
const writing = z.object({
  session: text,
  run: text,
  call: text,
  principal: text,
  agent: text,
  model: text.optional(),
  tools: z.array(text).describe('What its run had called by then.'),
  label,
  hash: text.describe('Of the files as they were written this time.'),
  atMs,
})
const draft = z.object({
  ...summary,
  files: z.record(text, text).describe('Text by path; `SKILL.md` is one of them.'),
  writings: z.array(writing).describe('The last times that it was written, newest first.'),
})

/** Skills that agents wrote. Nothing finds or loads one until it is promoted. */
export const skillDraftContracts = {
  'GET /api/operator/skill-drafts': {
    summary: 'Skills that agents wrote, the open ones first, each group newest first.',
    replies: {
      200: {
        is: 'At most 1,000 of them.',
        json: z.object({ drafts: z.array(z.object(summary)) }),
      },
    },
  },
  'GET /api/operator/skill-drafts/:draft': {
    summary: 'A draft with its files and where it came from.',
    params,
    replies: { 200: { is: 'The draft.', json: draft } },
    errors: [404],
  },
  'POST /api/operator/skill-drafts/:draft/promote': {
    summary: 'Installs exactly this text as a community skill, which enables nothing.',
    params,
    body: promoteDraftRequest,
    replies: {
      200: { is: 'With `dryRun`: what would be installed.', json: addition },
      201: { is: 'It is there.', json: addition },
    },
    errors: [403, 404, 409, 422],
  },
  'DELETE /api/operator/skill-drafts/:draft': {
    summary: 'Takes a draft away. A skill that it was promoted to stays.',
    params,
    body: noFields,
    isBodyOptional: true,
    replies: { 200: { is: 'It is gone.', json: z.object({ id: text, deleted: z.literal(true) }) } },
    errors: [404],
  },
} as const satisfies ApiContracts
