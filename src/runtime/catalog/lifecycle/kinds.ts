import type { McpDecisions } from '../types/mcp-administration.ts'
import type { PartKinds } from '../types/part-kind.ts'
import { bundledKind, pluginKind, type PluginKindDeps } from './plugin-kind.ts'
import { mcpKind } from './servers.ts'
import { exposureKind } from './set-exposure.ts'
import { policyKind } from './policy-kind.ts'
import { skillKind, type SkillKindDeps } from './skill-kind.ts'

export interface KindsDeps extends PluginKindDeps, Omit<SkillKindDeps, keyof PluginKindDeps> {
  /** Decides changes of remote MCP servers; none are possible if absent. */
  readonly servers?: McpDecisions | undefined
}

/** The table of what can be installed. A new kind is one more line here, and its pin in `runtime/catalog/types/generation.ts`. */
export const createKinds = (deps: KindsDeps): PartKinds => ({
  plugin: pluginKind(deps),
  bundled: bundledKind(deps),
  mcp: mcpKind(deps.servers),
  policy: policyKind,
  exposure: exposureKind,
  skill: skillKind(deps),
})
