import * as z from 'zod'
import { memoryScopes } from '../long-term.ts'

/** `agent.memory` of a manifest: the reminders that an agent gets, and the memory that its tools reach. */
export const memorySettingsSchema = z.lazy(() =>
  z.strictObject({
    /** The scopes of its reminders and its tools. It stores notes in the first of them that it may write. */
    scope: z.array(z.enum(memoryScopes)).min(1).max(3).default(['principal', 'agent']),
    /** Before its first turn: notes that fit what was asked, the newest, or none. */
    hydrate: z.enum(['search', 'recent', 'none']).default('search'),
    /** After a run that completed: stores the task and the answer, or nothing. */
    write: z.enum(['turns', 'none']).default('none'),
    budget: z
      .strictObject({
        /** The estimated tokens of its reminders. */
        tokens: z.int().min(50).max(8_000).default(800),
        /** Notes that a run may write. */
        notes: z.int().min(0).max(100).default(20),
      })
      .prefault({}),
    /** Short-term notes by key, for the length of the session, beside the scratchpad; the oldest go first. */
    streams: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_-]{0,39}$/),
        z.strictObject({
          max_items: z.int().min(1).max(1_000).default(100),
          /** Of all its notes together. */
          max_chars: z.int().min(100).max(200_000).default(20_000),
        }),
      )
      .refine((streams) => Object.keys(streams).length <= 8, 'at most 8 streams')
      .optional(),
  }),
)

/** An agent's long-term memory. */
export type MemorySettings = Readonly<z.infer<typeof memorySettingsSchema>>
