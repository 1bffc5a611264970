import * as z from 'zod'
import { documentTypes } from './knowledge.ts'
import { labelSchema } from '#contracts/label.ts'
import { memoryScopes, noteKinds } from '#contracts/long-term.ts'

// Shapes that the API answers and a plugin may provide. The contracts of the routes are not in the Worker, so these are
// here.

const text = z.string()
const count = z.int()
const atMs = z.int().describe('Epoch milliseconds.')
const scope = z.enum(memoryScopes)
const named = { id: text, scope, agent: text.optional(), name: text, title: text.optional() }
export const document = z
  .object({
    ...named,
    type: z.enum(documentTypes),
    hash: text.describe('Of what was sent.'),
    passages: count,
    chars: count,
    label: labelSchema,
    addedAtMs: atMs,
    updatedAtMs: atMs,
  })
  .meta({ id: 'KnowledgeDocument' })
export const passage = z.object({
  text,
  headings: z.array(text).optional(),
  page: count.optional(),
  line: count.optional(),
  document: z.object(named),
  part: count.describe('From 1, in its document.'),
  label: labelSchema,
  score: z.number(),
})
export const note = z
  .object({
    id: text,
    scope,
    agent: text.optional(),
    text,
    kind: z.enum(noteKinds),
    speaker: text.optional(),
    caption: text.optional(),
    date: text.optional(),
    conversation: text.optional(),
    label: labelSchema,
    origins: z.array(
      z.object({
        principal: text.optional(),
        session: text.optional(),
        run: text.optional(),
        agent: text.optional(),
        tool: text.optional(),
      }),
    ),
    createdAtMs: atMs,
    updatedAtMs: atMs,
    differsFrom: z
      .array(text)
      .optional()
      .describe('Notes that were there and say something else of much the same.'),
    score: z.number().optional().describe('Of a search; comparable within it.'),
  })
  .meta({ id: 'Note' })
