import * as z from 'zod'
import { memoryScopes } from '#contracts/long-term.ts'
import { note } from '#runtime/kernel/types/provided-shapes.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { noFields } from '#contracts/routes/request-lists.ts'
import {
  addNotesRequest,
  editNoteRequest,
  forgetNoteQuery,
  forgetQuery,
  memoryQuery,
  noteQuery,
} from './memory-requests.ts'
import { count, text } from '#contracts/routes/shapes.ts'

const scope = z.enum(memoryScopes)
const params = { note: 'Its id.' }
const one = { 200: { is: 'The note.', json: note } }
const forgotten = {
  200: { is: 'How many there were.', json: z.object({ forgotten: count }) },
}

/** `/api/memory…`: one’s own notes, and what the deployment remembers. */
export const memoryContracts = {
  'GET /api/memory': {
    summary: 'Lists or searches what is remembered for the caller, or for the deployment.',
    query: memoryQuery,
    replies: {
      200: {
        is: 'A page of notes.',
        json: z.object({
          notes: z.array(note),
          next: text.optional().describe('There are more: send it as `after`.'),
        }),
      },
    },
  },
  'POST /api/memory': {
    summary: 'Adds or imports notes. Those of the deployment are an operator’s to write.',
    body: addNotesRequest,
    replies: {
      200: {
        is: 'What became of each, in the order of the request.',
        json: z.object({
          added: z.array(
            z.object({
              id: text,
              state: z.enum(['added', 'merged', 'replaced']),
              differsFrom: z.array(text).optional(),
            }),
          ),
          evicted: count.optional().describe('How many had to go, since there were too many.'),
        }),
      },
    },
    errors: [404],
  },
  'DELETE /api/memory': {
    summary: 'Forgets all that fits, for good: without a field all that is the caller’s own.',
    query: forgetQuery,
    body: noFields,
    isBodyOptional: true,
    replies: forgotten,
  },
  'GET /api/memory/:note': { summary: 'A note.', params, query: noteQuery, replies: one },
  'POST /api/memory/:note': {
    summary: 'Changes a note. Its label stays, or becomes worse.',
    params,
    query: noteQuery,
    body: editNoteRequest,
    replies: one,
  },
  'DELETE /api/memory/:note': {
    summary: 'Forgets a note.',
    params,
    query: forgetNoteQuery,
    body: noFields,
    isBodyOptional: true,
    replies: {
      200: {
        is: 'How many there were.',
        json: z.object({
          forgotten: count,
          sessions: count.optional().describe('With `everywhere`: from how many it was taken.'),
          next: text.optional().describe('There are more conversations: nothing is forgotten yet.'),
        }),
      },
    },
  },
  'GET /api/operator/memory/:principal': {
    summary: 'How much is remembered for somebody; never what.',
    params: { principal: 'Its id.' },
    replies: {
      200: {
        is: 'By scope and agent.',
        json: z.object({
          principal: text,
          places: z.array(z.object({ scope, agent: text.optional(), notes: count, bytes: count })),
        }),
      },
    },
  },
  'DELETE /api/operator/memory/:principal': {
    summary: 'Forgets all that is remembered for somebody, for good.',
    params: { principal: 'Its id.' },
    body: noFields,
    isBodyOptional: true,
    replies: forgotten,
  },
} satisfies ApiContracts
