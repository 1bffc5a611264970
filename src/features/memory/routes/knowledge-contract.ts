import * as z from 'zod'
import { document, passage } from '#runtime/kernel/types/provided-shapes.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import {
  documentQuery,
  knowledgeQuery,
  knowledgeWhere,
  passagesQuery,
  putDocumentRequest,
} from './knowledge-requests.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import { count, text } from '#contracts/routes/shapes.ts'

const cited = passage
  .extend({ cite: text.describe('Where it is, in words.') })
  .meta({ id: 'KnowledgePassage' })
const params = { document: 'Its id.' }
const forgotten = {
  200: { is: 'How many documents there were.', json: z.object({ forgotten: count }) },
}

/** `/api/knowledge…`: documents that agents look things up in. */
export const knowledgeContracts = {
  'GET /api/knowledge': {
    summary: 'Lists the documents of the caller, or of the deployment.',
    query: knowledgeQuery,
    replies: {
      200: {
        is: 'A page of documents.',
        json: z.object({
          documents: z.array(document),
          next: text.optional().describe('There are more: send it as `after`.'),
        }),
      },
    },
  },
  'POST /api/knowledge': {
    summary:
      'Puts a document: cut into passages and indexed. The same again changes nothing; another text under its name takes its place.',
    body: putDocumentRequest,
    replies: {
      200: {
        is: 'What became of it.',
        json: z.object({ state: z.enum(['added', 'changed', 'same']), document }),
      },
    },
  },
  'DELETE /api/knowledge': {
    summary: 'Removes all documents that fit, for good: without a field all that are the caller’s.',
    query: knowledgeWhere,
    body: noFields,
    isBodyOptional: true,
    replies: forgotten,
  },
  'GET /api/knowledge/search': {
    summary: 'Finds passages of documents, the best first.',
    query: passagesQuery,
    replies: { 200: { is: 'Passages.', json: z.object({ passages: z.array(cited) }) } },
  },
  'GET /api/knowledge/:document': {
    summary: 'A document with its passages.',
    params,
    query: documentQuery,
    replies: {
      200: { is: 'Both.', json: z.object({ document, passages: z.array(cited) }) },
    },
  },
  'DELETE /api/knowledge/:document': {
    summary: 'Removes a document, with all that was made of it.',
    params,
    query: documentQuery,
    body: noFields,
    isBodyOptional: true,
    replies: forgotten,
  },
} satisfies ApiContracts
