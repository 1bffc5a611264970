import * as z from 'zod'
import { agentDefinition } from '#contracts/manifest/agent-definition.ts'
import { onDemandDefinition } from '../types.ts'
import { digits } from '#contracts/query-fields.ts'

/** `POST /api/agents`: a definition, as in `agent.yaml`. */
export const agentRequest = agentDefinition.extend({
  dryRun: z
    .boolean()
    .optional()
    .describe('Nothing is made: what would be, and what an operator would have to allow.'),
})

/** `POST /api/agents/on-demand`. */
export const onDemandRequest = onDemandDefinition.extend({
  task: z.string().min(1),
  context: z.string().min(1).optional(),
  ttlSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe(
      'How long its session is kept from its beginning; if absent it is gone with its ' +
        'answer, and after an hour in the background or with an idempotency-key.',
    ),
  tempId: z
    .string()
    .regex(/^[\w.:-]{1,64}$/, 'must be 1 to 64 letters, digits and . _ : -')
    .optional()
    .describe('For your own lists: it comes back and is on the record, and allows nothing.'),
  background: z.boolean().optional().describe('Answers with where it works, and does not wait.'),
})

/** `POST /api/agents/promote`: the fields that an agent on demand lacks as a stored agent. */
export const promoteAgentRequest = z.strictObject({
  session: z.string().regex(/^ses_[0-9A-Za-z]{22}$/, 'must be the id of a session'),
  run: z.string().regex(/^run_[0-9A-Za-z]{22}$/, 'must be the id of a run'),
  id: agentDefinition.shape.id,
  name: agentDefinition.shape.name,
  description: agentDefinition.shape.description,
  natural_language_description: agentDefinition.shape.natural_language_description,
  limits: agentDefinition.shape.agent.shape.limits.optional(),
  dryRun: z.boolean().optional(),
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
  from: digits(1e9).optional().describe('The one before `to` if absent.'),
  to: digits(1e9).optional().describe('The newest if absent.'),
})
