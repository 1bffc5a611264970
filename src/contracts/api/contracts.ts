import { agentContracts } from './agents.ts'
import { approvalContracts } from './approvals.ts'
import type { ApiContracts } from './contract.ts'
import { erasureContracts } from './erasures.ts'
import { healthContracts } from './health.ts'
import { keyContracts } from './keys.ts'
import { mcpContracts } from './mcp.ts'
import { knowledgeContracts } from './knowledge.ts'
import { memoryContracts } from './memory.ts'
import { openaiContracts } from './openai.ts'
import { pluginContracts } from './plugins.ts'
import { recordContracts } from './record.ts'
import { runContracts } from './runs.ts'
import { sessionContracts } from './sessions.ts'
import { settingContracts } from './settings.ts'
import { skillDraftContracts } from './skill-drafts.ts'
import { skillContracts } from './skills.ts'

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
  ...skillContracts,
  ...skillDraftContracts,
  ...pluginContracts,
  ...mcpContracts,
  ...knowledgeContracts,
  ...memoryContracts,
  ...erasureContracts,
} satisfies ApiRoutes
