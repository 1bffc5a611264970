import * as z from 'zod'
import { label, number, text } from '../event-fields.ts'

const draft = {
  draft: text,
  name: text.describe('of the skill'),
  hash: text.describe('sha-256 of its content'),
}
const request = {
  request: text.exactOptional().describe('the id of the request; absent if it had none'),
}

/** Events about drafts of skills; part of `deployment-event-schemas.ts`. */
export const draftEventSchemas = {
  skill_promoted: z
    .object({
      ...draft,
      count: number.describe('how often it was written'),
      label: label.describe('of what its writer had read'),
      ...request,
    })
    .describe('An operator installed a draft that an agent wrote as a skill.'),
  skill_draft_removed: z
    .object({ ...draft, ...request })
    .describe('An operator took a draft away.'),
  skill_draft_expired: z
    .object({ ...draft, lastAtMs: number.describe('when it was written last; epoch milliseconds') })
    .describe('A draft was removed: it was not promoted, and no agent wrote it again.'),
} as const
