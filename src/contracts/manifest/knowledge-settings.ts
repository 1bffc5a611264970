import * as z from 'zod'
import { memoryScopes } from '../long-term.ts'

/** `agent.knowledge` of a manifest: whose documents an agent looks things up in. */
export const knowledgeSettingsSchema = z.lazy(() =>
  z.strictObject({
    /** The documents that `knowledge__search` finds for it; all three scopes if the section is left out. */
    scope: z
      .array(z.enum(memoryScopes))
      .min(1)
      .max(3)
      .default(['principal', 'agent', 'deployment']),
    /** Passages that fit what was asked, shown before its first turn; none by default: it looks them up. */
    hydrate: z.int().min(0).max(10).default(0),
  }),
)

/** An agent's access to documents. */
export type KnowledgeSettings = Readonly<z.infer<typeof knowledgeSettingsSchema>>
