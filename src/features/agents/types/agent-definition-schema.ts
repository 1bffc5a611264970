import * as z from 'zod'
import { about, section } from '#contracts/manifest/agent-definition-schema.ts'

/** An agent that lives for one request. Unknown keys are refused. */
export const onDemandDefinition = z.strictObject({
  name: about.name.default('On demand'),
  description: about.description.default('An agent on demand.'),
  agent: section.refine(({ subscribes }) => !subscribes?.length, {
    path: ['subscribes'],
    error: 'is of agents that are kept (POST /api/agents): one on demand does its task and is gone',
  }),
})
