import * as z from 'zod'
import { memoryScopes } from './long-term.ts'

/** `agent.memory` of a manifest: what an agent has of long-term memory without asking for it, and what its tools may. */
export const memorySettingsSchema = z.lazy(() =>
  z.strictObject({
    /** What it is reminded of, and what its tools reach. What it keeps is in the first of them that it may write. */
    scope: z.array(z.enum(memoryScopes)).min(1).max(3).default(['principal', 'agent']),
    /** Before its first turn: notes that fit what was asked, the newest, or none. */
    hydrate: z.enum(['search', 'recent', 'none']).default('search'),
    /** After a run that completed: what was said and answered, or nothing. */
    write: z.enum(['turns', 'none']).default('none'),
    budget: z
      .strictObject({
        /** Of what it is reminded of, as estimated. */
        tokens: z.int().min(50).max(8_000).default(800),
        /** Notes that a run may write. */
        notes: z.int().min(0).max(100).default(20),
      })
      .prefault({}),
  }),
)

/** An agent's long-term memory. */
export type MemorySettings = Readonly<z.infer<typeof memorySettingsSchema>>
