import * as z from 'zod'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { eraseMyselfRequest, erasuresQuery, startErasureRequest } from './erasures-requests.ts'
import { atMs, count, text } from '#contracts/routes/shapes.ts'

const erasure = z
  .object({
    id: text.describe('The pseudonym that the record has for them.'),
    principal: text.describe('Whose; once it is done the pseudonym.'),
    state: z.enum(['running', 'done']),
    askedBy: text.describe('An operator, or `self`.'),
    askedAtMs: atMs,
    nextMs: atMs.optional().describe('When it goes on.'),
    pass: count.describe('How often all places were gone through, this time included.'),
    erased: z.record(text, count).describe('By place.'),
    problems: z.record(text, text).describe('By place: what could not be done yet.'),
  })
  .meta({ id: 'Erasure' })
const begun = { 202: { is: 'It is under way.', json: erasure } }

/** `/api/erasure` and `/api/operator/erasures…`: erasing a person. */
export const erasureContracts = {
  'POST /api/erasure': {
    summary: 'Erases the caller from everywhere, for good.',
    body: eraseMyselfRequest,
    replies: begun,
  },
  'GET /api/operator/erasures': {
    summary: 'Lists erasures, the newest first.',
    query: erasuresQuery,
    replies: { 200: { is: 'The list.', json: z.object({ erasures: z.array(erasure) }) } },
  },
  'POST /api/operator/erasures': {
    summary: 'Erases a person from everywhere, for good. One that runs already is answered.',
    body: startErasureRequest,
    replies: begun,
  },
  'GET /api/operator/erasures/:erasure': {
    summary: 'How far an erasure is, or what came of it.',
    params: { erasure: 'Its id.' },
    replies: { 200: { is: 'The erasure.', json: erasure } },
  },
} satisfies ApiContracts
