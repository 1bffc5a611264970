import * as z from 'zod'
import { memoryScopes } from '#contracts/long-term.ts'
import { document, note, passage } from './provided-shapes.ts'

const count = z.int().min(0)
const text = z.string().max(4_000)
const id = z.string().min(1).max(200)
const next = z.string().min(1).max(200).optional()
const stats = z
  .array(
    z.object({ scope: z.enum(memoryScopes), agent: id.optional(), notes: count, bytes: count }),
  )
  .max(10_000)
  .optional()
const most = 500

const places = z.array(count).max(10_000).optional()

/** The choice of a context provider: which answers get a handle, which steps leave, and the summary of those. */
export const contextChoice = z.object({
  stub: places,
  summarize: places,
  summary: z.string().max(16_000).optional(),
})

/** The accepted fields of an answer, by kind of provider. `label` counts only if the plugin is trusted. */
export const providedAnswers = {
  memory: z.object({
    notes: z
      .array(note.extend({ id, text, label: z.unknown() }))
      .max(most)
      .optional(),
    added: z
      .array(
        z.object({
          id,
          state: z.enum(['added', 'merged', 'replaced']),
          differsFrom: z.array(id).max(100).optional(),
        }),
      )
      .max(most)
      .optional(),
    evicted: count.optional(),
    forgotten: count.optional(),
    next,
    stats,
  }),
  knowledge: z.object({
    state: z.enum(['added', 'changed', 'same']).optional(),
    documents: z
      .array(document.extend({ id, label: z.unknown() }))
      .max(most)
      .optional(),
    passages: z
      .array(passage.extend({ text, label: z.unknown() }))
      .max(2_000)
      .optional(),
    forgotten: count.optional(),
    next,
    stats,
  }),
} as const
