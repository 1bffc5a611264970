import type * as z from 'zod'
import type { agentDefinition } from './agent-definition-schema.ts'

/** A definition that was checked, with its defaults filled in. */
export type AgentDefinition = z.infer<typeof agentDefinition>
