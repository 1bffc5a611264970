import type { RequestLimits } from '#features/access/types/request-limits.ts'
import type { PluginAdministration } from '#runtime/catalog/types/plugin-catalog.ts'
import type { SessionIndex } from '#contracts/operations.ts'
import type { AgentDirectory } from '#runtime/session/types/runtime.ts'
import type { SessionGateway } from '#runtime/session/types/session-api.ts'
import type { SessionEntry } from '#runtime/session/types/session-entry.ts'
import type { SkillLibrary, SkillShelf } from '#runtime/catalog/types/skill.ts'
import type { Sources } from '#contracts/sources.ts'
import type { Targets } from '#platform/routes/targets.ts'
import type { ToldClients } from './told-clients.ts'
import type { OnFault } from '#platform/routes/request.ts'

/** The dependencies of `/mcp`. */
export interface McpDeps extends Targets {
  readonly agents: AgentDirectory
  readonly sessions: SessionGateway
  readonly sessionIndex: Pick<SessionIndex, 'list'>
  readonly entry: SessionEntry
  readonly limits: Pick<RequestLimits, 'newSession'>
  readonly plugins: Pick<PluginAdministration, 'exposed'>
  readonly skills: Pick<SkillLibrary, 'list' | 'show' | 'persona'> & SkillShelf
  /** The labels of results that MCP clients received before. */
  readonly toldClients: ToldClients
  readonly sources: Sources
  readonly version: string
  /** Further names under which clients may reach this deployment. */
  readonly hosts?: readonly string[]
  /** Seals what MCP clients carry from one request to the next. At least 32 bytes. */
  readonly stateKey: string | undefined
  /** Gets what a caller never sees. */
  readonly onFault?: OnFault
}
