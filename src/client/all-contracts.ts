import { agentContracts } from '#features/agents/routes/agents-contract.ts'
import { approvalContracts } from '#features/approvals/routes/approvals-contract.ts'
import type { ApiContracts } from '#contracts/routes/contract.ts'
import { erasureContracts } from '#features/record/routes/erasures-contract.ts'
import { healthContracts } from '#features/record/routes/health-contract.ts'
import { keyContracts } from '#features/access/routes/keys-contract.ts'
import { mcpContracts } from '#features/mcp-servers/routes/mcp-contract.ts'
import { knowledgeContracts } from '#features/memory/routes/knowledge-contract.ts'
import { memoryContracts } from '#features/memory/routes/memory-contract.ts'
import { openaiContracts } from '#surfaces/openai/openai-contract.ts'
import { pluginContracts } from '#features/plugins/routes/plugins-contract.ts'
import { recordContracts } from '#features/record/routes/record-contract.ts'
import { runContracts } from '#runtime/session/types/runs-contract.ts'
import { scheduleContracts } from '#features/schedules/routes/schedules-contract.ts'
import { sessionContracts } from '#runtime/session/types/sessions-contract.ts'
import { settingContracts } from '#features/policy/routes/settings-contract.ts'
import { skillDraftContracts } from '#features/skills/routes/skill-drafts-contract.ts'
import { skillContracts } from '#features/skills/routes/skills-contract.ts'
import { subscriptionContracts } from '#features/schedules/routes/subscriptions-contract.ts'

/** What each route takes and answers: a client's types are made of this. */
export type ApiRoutes = typeof healthContracts &
  typeof openaiContracts &
  typeof sessionContracts &
  typeof runContracts &
  typeof recordContracts &
  typeof agentContracts &
  typeof approvalContracts &
  typeof keyContracts &
  typeof settingContracts &
  typeof scheduleContracts &
  typeof subscriptionContracts &
  typeof skillContracts &
  typeof skillDraftContracts &
  typeof pluginContracts &
  typeof mcpContracts &
  typeof knowledgeContracts &
  typeof memoryContracts &
  typeof erasureContracts

/** Every route that has a contract, by method and path. */
export const apiContracts: ApiContracts = {
  ...healthContracts,
  ...openaiContracts,
  ...sessionContracts,
  ...runContracts,
  ...recordContracts,
  ...agentContracts,
  ...approvalContracts,
  ...keyContracts,
  ...settingContracts,
  ...scheduleContracts,
  ...subscriptionContracts,
  ...skillContracts,
  ...skillDraftContracts,
  ...pluginContracts,
  ...mcpContracts,
  ...knowledgeContracts,
  ...memoryContracts,
  ...erasureContracts,
} satisfies ApiRoutes
