import * as z from 'zod'
import { documentTypes } from '#runtime/kernel/types/knowledge.ts'
import { maxDocumentChars } from '../types.ts'
import { memoryScopes } from '#contracts/long-term.ts'
import { listLimit, wantedName } from '#contracts/query-fields.ts'

const scope = z.enum(memoryScopes)
const where = {
  scope: scope.describe('All of one’s own if absent; `deployment` alone is not.').optional(),
  agent: wantedName.describe('Of scope `agent`: whose. All if absent.').optional(),
}

/** `DELETE /api/knowledge`: all that fits. */
export const knowledgeWhere = z.strictObject(where)

/** `GET /api/knowledge`. */
export const knowledgeQuery = z.strictObject({
  ...where,
  limit: listLimit.optional(),
  after: z.string().min(1).max(100).optional(),
})

/** `GET /api/knowledge/search`. */
export const passagesQuery = z.strictObject({
  ...where,
  query: z.string().max(8_000).describe('Words of the passage; nothing has none.').default(''),
  limit: listLimit.optional(),
})

/** `…/api/knowledge/:document`. */
export const documentQuery = z.strictObject({
  scope: z.literal('deployment').describe('The deployment’s; one’s own if absent.').optional(),
})

const content = z.string().max(maxDocumentChars)

/** `POST /api/knowledge`. */
export const putDocumentRequest = z.strictObject({
  scope: scope.default('principal'),
  agent: wantedName.describe('Of scope `agent`: whose.').exactOptional(),
  name: z
    .string()
    .min(1)
    .max(500)
    .describe('Its path or address: the same name in the same scope is the same document.'),
  title: z.string().min(1).max(200).describe('Its own first heading if absent.').exactOptional(),
  type: z.enum(documentTypes).default('text'),
  text: content.exactOptional(),
  pages: z
    .array(content)
    .min(1)
    .max(5_000)
    .describe('Of type `pages`: the text of each.')
    .exactOptional(),
  integrity: z
    .enum(['data', 'stranger'])
    .exactOptional()
    .describe(
      '`data`: the caller’s own, or of somebody the caller trusts; `stranger`: somebody else’s text. Absent: ' +
        '`data` with a key; `stranger` with a token, whose program acts for somebody, and of a document that ' +
        'is named by an address.',
    ),
  dryRun: z.boolean().describe('Says what would become of it.').exactOptional(),
})
