import * as z from 'zod'
import { agentDefinition } from '../../agent-definition.ts'

/** `POST /api/agents`: a definition, as in `agent.yaml`. */
export const agentRequest = agentDefinition.extend({
  dryRun: z
    .boolean()
    .optional()
    .describe('Nothing is made: what would be, and what an operator would have to allow.'),
})

const version = z.int().min(1)

/** `POST /api/agents/:agent/rollback`. */
export const rollBackAgentRequest = z.strictObject({ version })

/** `POST /api/agents/:agent/approve`: exactly the text that was looked at. */
export const approveAgentRequest = z.strictObject({
  version,
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'must be the hash that the version has'),
})

/** `GET /api/agents/:agent/diff`. */
export const agentDiffQuery = z.strictObject({
  from: z
    .string()
    .regex(/^\d{1,9}$/, 'must be the number of a version')
    .transform(Number),
  to: z
    .string()
    .regex(/^\d{1,9}$/, 'must be the number of a version')
    .transform(Number)
    .optional()
    .describe('The newest if absent.'),
})
